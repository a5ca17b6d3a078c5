#!/usr/bin/env python3
"""Checks the prose that a person reads: length of sentences, retired words, spelling.

Usage: docs/style/check_prose.py [--self-test]

Docs       README.md, docs/*.md: sentences of at most 30 words, no retired phrase, spelling
Lessons    assets/lessons/*.en.md, their texts in TOML too: sentences of at most 30 words, a formula counting as one
Texts      string literals of app/ and sim/ that hold a sentence: no retired phrase, spelling
Names      code of app/, kernels/ and sim/: no retired name
Overruled  docs/style/allowed.txt; words of our own: docs/style/words.txt
Exit       0 nothing found, 1 something found, 77 aspell is not installed
"""
import fnmatch
import glob
import os
import re
import shutil
import subprocess
import sys

LONGEST_SENTENCE = 30
STYLE = os.path.join("docs", "style")


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def entries(path):
    """Yields the lines of a list, without comments."""
    for line in read(path).splitlines():
        if line.strip() and not line.startswith("#"):
            yield line.rstrip()


# --- Markdown -------------------------------------------------------------------------------------------------------------

def plain(text):
    """Removes what is not prose of a piece of Markdown: code becomes one word, a link becomes its text."""
    text = re.sub(r"!\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"(`+)(.+?)\1", "CODE", text)
    text = re.sub(r"https?://\S+", "CODE", text)
    text = re.sub(r"<[^>]+>", " ", text)
    return text.replace("**", "").replace("__", "")


def blocks(text):
    """Yields (line number, text) of paragraphs, list items, headings and table cells; leaves out code."""
    paragraph, start, fenced = [], 0, False
    for number, line in enumerate(text.splitlines() + [""], 1):
        stripped = line.strip()
        if re.match(r"(```|~~~)", stripped):
            fenced = not fenced
            stripped = ""
        elif fenced:
            continue
        table = stripped.startswith("|")
        item = re.match(r"([-*+]|\d+\.)\s+|#+\s+", stripped)
        if (not stripped or table or item) and paragraph:
            yield start, plain(" ".join(paragraph))
            paragraph = []
        if table:
            for cell in re.split(r"(?<!\\)\|", stripped.strip("|")):
                if re.search(r"\w", cell):
                    yield number, plain(cell.strip())
        elif stripped:
            if not paragraph:
                start = number
            paragraph.append(stripped[item.end():] if item else stripped)
            if stripped.startswith("#"):
                yield start, plain(" ".join(paragraph))
                paragraph = []


def lesson_blocks(text):
    """Yields (line number, text) of a lesson's paragraphs and of the texts in its TOML blocks."""
    text = re.sub(r"\{=.*?\}", "NUMBER", text)
    yield from blocks(text)
    for match in re.finditer(r'"""(.*?)"""|"((?:\\.|[^"\\\n])*)"', text, re.S):
        yield text.count("\n", 0, match.start()) + 1, plain(match.group(1) or match.group(2) or "")


def sentences(text):
    """Splits at full stops, question and exclamation marks before a space; "e.g." and the like do not end a sentence."""
    guarded = re.sub(r"\b(e\.g|i\.e|etc|vs|cf|Fig|No|approx)\.", r"\1", text)
    return [s for s in re.split(r"(?<=[.!?])[)\"”]*\s+", guarded) if s.strip()]


def words(sentence):
    return [w for w in sentence.split() if re.search(r"\w", w)]


# --- code -----------------------------------------------------------------------------------------------------------------

TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'', re.S)


def split_code(text):
    """Returns (code without comments and literals, literals as (line, text)); neighbouring literals are one."""
    code, literals, end = [], [], 0
    last_end = -1
    for match in TOKEN.finditer(text):
        code.append(text[end:match.start()])
        token = match.group(0)
        code.append(" " + "\n" * token.count("\n"))
        if token.startswith('"'):
            value = token[1:-1].replace("\\n", "\n").replace('\\"', '"').replace("\\\\", "\\")
            if literals and not text[last_end:match.start()].strip() and last_end >= 0:
                literals[-1] = (literals[-1][0], literals[-1][1] + value)
            else:
                literals.append((text.count("\n", 0, match.start()) + 1, value))
            last_end = match.end()
        end = match.end()
    code.append(text[end:])
    return "".join(code), literals


def is_sentence(text):
    return len(re.findall(r"[A-Za-z]{2,}", text)) >= 3 and " " in text


# --- the rules ------------------------------------------------------------------------------------------------------------

class Rules:
    def __init__(self, retired, own_words):
        self.phrases, self.names = [], []
        for line in retired:
            if line.startswith("name:"):
                self.names.append(line[5:].strip())
            else:
                phrase, _, instead = line.partition(" = ")
                self.phrases.append((re.compile(re.escape(phrase.strip()).replace(r"\ ", r"\s+"), re.I), phrase.strip(), instead))
        self.name = re.compile(r"(?<![\w.])(%s)\b" % "|".join(map(re.escape, self.names))) if self.names else None
        self.own_words = {w.lower() for w in own_words}

    def long_sentences(self, text, find_blocks=blocks):
        for number, block in find_blocks(text):
            for sentence in sentences(block):
                if len(words(sentence)) > LONGEST_SENTENCE:
                    yield number, "length", sentence, "%d words, at most %d" % (len(words(sentence)), LONGEST_SENTENCE)

    def retired_phrases(self, number, text):
        for pattern, phrase, instead in self.phrases:
            if pattern.search(text):
                yield number, "retired", phrase, "say: " + instead

    def retired_names(self, code):
        for number, line in enumerate(code.splitlines(), 1):
            for match in self.name.finditer(line) if self.name else ():
                yield number, "name", match.group(1), "a retired name"

    def misspelt(self, texts):
        """texts: (path, line, text). One run of aspell over all words; yields (path, line, word)."""
        places = {}
        for path, number, text in texts:
            text = re.sub(r"\{[^}]*\}|%[a-z.]+|--[\w-]+|\S*[/_\\=@]\S*|\w*\d\w*|[\w-]+\.\w+", " ", text)
            for word in re.findall(r"[A-Za-z][A-Za-z'’]*[A-Za-z]", text):
                if not re.search(r"[a-z][A-Z]|[A-Z]{2}", word):  # CamelCase and abbreviations are names
                    places.setdefault(word.replace("’", "'"), (path, number))
        unknown = subprocess.run(["aspell", "list", "--lang=en", "--encoding=utf-8"], input="\n".join(places), text=True,
                                 capture_output=True, check=True).stdout.split()
        for word in sorted(set(unknown)):
            base = re.sub(r"'s$|'$", "", word).lower()
            if base not in self.own_words and word in places:
                yield (*places[word], word)


def findings(rules):
    spelled = []
    for path in ["README.md"] + sorted(glob.glob("docs/*.md")):
        text = read(path)
        for found in rules.long_sentences(text):
            yield (path, *found)
        for number, block in blocks(text):
            spelled.append((path, number, block.replace("CODE", " ")))
            for found in rules.retired_phrases(number, block):
                yield (path, *found)
    for path in sorted(glob.glob("assets/lessons/*.en.md")):
        for found in rules.long_sentences(read(path), lesson_blocks):
            yield (path, *found)
    for folder in ("app", "kernels", "sim"):
        for extension in ("cpp", "h", "cu", "cuh"):
            for path in sorted(glob.glob("%s/**/*.%s" % (folder, extension), recursive=True)):
                code, literals = split_code(read(path))
                for found in rules.retired_names(code):
                    yield (path, *found)
                for number, text in literals:
                    if is_sentence(text) and folder != "kernels":
                        spelled.append((path, number, text))
                        for found in rules.retired_phrases(number, text):
                            yield (path, *found)
    for path, number, word in rules.misspelt(spelled):
        yield path, number, "spelling", word, "not in the dictionary, nor in docs/style/words.txt"


def allows(line, rule, path, text):
    """Whether a line of allowed.txt, "rule path: text", is about this; its path may hold *, its text may be *."""
    what, _, allowed_text = line.partition(": ")
    allowed_rule, _, pattern = what.partition(" ")
    return allowed_rule == rule and allowed_text in (text, "*") and fnmatch.fnmatch(path, pattern)


def self_test():
    rules = Rules(["held up by = bottleneck", "name: errands"], ["tile"])
    long = "A " + "word " * 30 + "end."
    assert [f[1] for f in rules.long_sentences(long)] == ["length"]
    assert not list(rules.long_sentences("word " * 29 + "end. " + "Word " * 29 + "end."))
    assert not list(rules.long_sentences("```\n" + long + "\n```"))
    assert not list(rules.long_sentences("| " + "word " * 20 + "| " + "word " * 20 + "|"))
    assert not list(rules.long_sentences("- " + "word " * 20 + "\n- " + "word " * 20))
    assert list(rules.long_sentences("word " * 16 + "\n" + "word " * 16))[0][0] == 1
    assert not list(rules.long_sentences("word " * 28 + "`a b c d e f`."))
    assert [f[0] for f in rules.long_sentences("```reveal\nsay = \"" + long + "\"\n```", lesson_blocks)] == [2]
    assert not list(rules.long_sentences("```reveal\nsay = \"" + "word " * 28 + "{= a + b : bytes}.\"\n```", lesson_blocks))
    assert [f[2] for f in rules.retired_phrases(1, "it is Held  up\nby latency")] == ["held up by"]
    code, literals = split_code('int errands; // errands\nf("one two" \n " three", R"(four)", \'"\');  /* errands */ x("five");')
    assert [f[2] for f in rules.retired_names(code)] == ["errands"], code
    assert literals == [(2, "one two three"), (3, "five")], literals
    assert is_sentence("a tile is large") and not is_sentence("hbm_read") and not is_sentence("two words")
    found = list(rules.misspelt([("a.md", 3, "The tile hass `x` a colour, {nothingg} --flagg, HBMx, isn't")]))
    assert found == [("a.md", 3, "hass")], found
    assert allows("name sim/*: side", "name", "sim/core/a.h", "side")
    assert not allows("name sim/*: side", "name", "app/a.h", "side")
    assert not allows("name sim/*: side", "name", "sim/a.h", "sides")
    print("the checker finds what it should")


def main():
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
    if shutil.which("aspell") is None:
        print("skipped: aspell is not installed")
        return 77
    if sys.argv[1:] == ["--self-test"]:
        self_test()
        return 0
    rules = Rules(entries(os.path.join(STYLE, "retired.txt")), entries(os.path.join(STYLE, "words.txt")))
    allowed = list(entries(os.path.join(STYLE, "allowed.txt")))
    used, count = set(), 0
    for path, number, rule, text, why in findings(rules):
        overruled = [a for a in allowed if allows(a, rule, path, " ".join(text.split()))]
        if overruled:
            used.update(overruled)
            continue
        count += 1
        print("%s:%d: %s: %s (%s)" % (path, number, rule, " ".join(text.split()), why))
    for line in allowed:
        if line not in used:
            count += 1
            print("docs/style/allowed.txt: no longer needed: %s" % line)
    print("%d found" % count if count else "nothing found")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
