// Reading and writing whole files: what is refused, and that nothing is left half-written.
#include "app/platform/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>

#include <doctest/doctest.h>

#include "tests/app/temporary_folder.h"

namespace tilescope {

namespace {

std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

TEST_CASE("files: what was written reads back") {
  const TemporaryFolder folder;
  const std::string path = folder.path("a.txt");
  REQUIRE(write_file(path, "one"));
  CHECK(*read_text_file(path) == "one");
  REQUIRE(write_file(path, std::string(3 << 20, 'x')));
  CHECK(read_text_file(path)->size() == 3 << 20);
  CHECK(folder.entries() == 1);
}

TEST_CASE("files: a named pipe without a reader is refused at once, and one with a reader gets everything") {
  const TemporaryFolder folder;
  const std::string path = folder.path("pipe");
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  const Status alone = write_file(path, "text");
  REQUIRE_FALSE(alone);
  CHECK(alone.error().sentence.text().ends_with("it is a named pipe that nobody reads; start its reader first"));
  const int reader = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  REQUIRE(reader >= 0);
  ::fcntl(reader, F_SETFL, 0);
  const std::string text(std::size_t{1} << 20, 'x');  // more than a pipe holds: the writer waits for the reader
  std::string got;
  std::thread reading([&] {
    std::array<char, 4096> part{};
    while (got.size() < text.size()) {
      const ssize_t count = ::read(reader, part.data(), part.size());
      if (count < 0) break;
      got.append(part.data(), static_cast<std::size_t>(count));
    }
  });
  CHECK(write_file(path, text));
  reading.join();
  ::close(reader);
  CHECK(got == text);
}

TEST_CASE("files: an empty, binary, missing, too large or special file is refused with its path and the reason") {
  const TemporaryFolder folder;
  const auto error = [](const std::string& path, std::size_t limit = largest_text_bytes) {
    const auto text = read_text_file(path, limit);
    REQUIRE_FALSE(text);
    CHECK(text.error().sentence.text().find("cannot read " + path + ": ") == 0);
    return text.error().sentence.text().substr(("cannot read " + path + ": ").size());
  };
  CHECK(error(folder.file("empty", "")) == "it is empty");
  CHECK(error(folder.file("binary", std::string("a\0b", 3))) == "it is binary, not text");
  CHECK(error(folder.file("large", "12345"), 4) == "it is larger than 4 bytes");
  const auto start = read_file_start(folder.file("start", "12345"), 3);
  REQUIRE(start);
  CHECK(start->bytes == "123");
  CHECK(start->whole == 5);
  CHECK(read_file_start(folder.file("short", "12"), 3)->bytes == "12");
  CHECK_FALSE(read_file_start(folder.path("nothing"), 3));
  CHECK(error(folder.path("nothing")) == "there is no such file");
  CHECK(error(folder.path(".")) == "it is a folder");
  CHECK(error("/dev/zero") == "it is not a regular file");
  CHECK(error(folder.file("file", "x") + "/below") != "");
  if (::geteuid() != 0) {  // root may read everything
    const std::string secret = folder.file("secret", "x");
    std::filesystem::permissions(secret, std::filesystem::perms::none);
    CHECK(error(secret) == "Permission denied");
  }
}

TEST_CASE("files: a target that cannot be written is refused, and the old content stays") {
  const TemporaryFolder folder;
  CHECK(write_file("", "x").error().sentence == "cannot write: the file name is empty");
  CHECK(write_file(folder.path("."), "x").error().sentence.text().find("it is a folder") != std::string::npos);
  CHECK_FALSE(check_writable(folder.path("none/a.txt")));
  CHECK(check_writable(folder.path("a.txt")));
  CHECK(check_writable("/dev/null"));
  CHECK(write_file(folder.path("none/a.txt"), "x").error().sentence.text().find("there is no folder") != std::string::npos);
  CHECK(write_file(folder.file("plain", "old") + "/below", "x").error().kind == Error::Kind::wrong_request);
  const auto full = write_file("/dev/full", "x");
  REQUIRE_FALSE(full);
  CHECK(full.error().sentence == "cannot write /dev/full: No space left on device");
  CHECK(full.error().kind == Error::Kind::machine_lacks);
  CHECK(std::filesystem::is_character_file("/dev/full"));
  CHECK(content_of(folder.path("plain")) == "old");
  CHECK(folder.entries() == 1);
}

TEST_CASE("files: writing through a link replaces the file it names, and a file keeps its permissions") {
  const TemporaryFolder folder;
  const std::string target = folder.file("target", "old");
  std::filesystem::permissions(target, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  std::filesystem::create_symlink(target, folder.path("link"));
  REQUIRE(write_file(folder.path("link"), "new"));
  CHECK(std::filesystem::is_symlink(folder.path("link")));
  CHECK(content_of(target) == "new");
  CHECK(std::filesystem::status(target).permissions() ==
        (std::filesystem::perms::owner_read | std::filesystem::perms::owner_write));
}

TEST_CASE("files: a batch is placed as a whole, or not at all") {
  const TemporaryFolder folder;
  const std::string old = folder.file("old", "before"), fresh = folder.path("new");
  {
    FileBatch batch;
    REQUIRE(batch.add(old, "after"));
    REQUIRE(batch.add(fresh, "made"));
    CHECK(content_of(old) == "before");
    CHECK_FALSE(std::filesystem::exists(fresh));
    REQUIRE(batch.commit());
  }
  CHECK(content_of(old) == "after");
  CHECK(content_of(fresh) == "made");
  CHECK(folder.entries() == 2);
  {
    const FileBatch unused;
    FileBatch dropped;
    REQUIRE(dropped.add(old, "never"));
  }
  CHECK(content_of(old) == "after");
  CHECK(folder.entries() == 2);
}

TEST_CASE("files: when the last file of a batch cannot be placed, the others are what they were") {
  const TemporaryFolder folder;
  const std::string old = folder.file("old", "before"), fresh = folder.path("new"), last = folder.path("last");
  {
    FileBatch batch;
    REQUIRE(batch.add(old, "after"));
    REQUIRE(batch.add(fresh, "made"));
    REQUIRE(batch.add(last, "refused"));
    std::filesystem::create_directories(last + "/below");  // no file can be renamed to this name now
    const Status placed = batch.commit();
    REQUIRE_FALSE(placed);
    CHECK(placed.error().sentence.text().find("cannot write " + last) == 0);
  }
  CHECK(content_of(old) == "before");
  CHECK_FALSE(std::filesystem::exists(fresh));
  CHECK(folder.entries() == 2);
}

TEST_CASE("files: a full device behind one target leaves the other targets as they were") {
  const TemporaryFolder folder;
  const std::string old = folder.file("old", "before");
  {
    FileBatch batch;
    REQUIRE(batch.add(old, "after"));
    REQUIRE(batch.add("/dev/full", "x"));
    CHECK(batch.commit().error().kind == Error::Kind::machine_lacks);
  }
  CHECK(content_of(old) == "before");
  CHECK(folder.entries() == 1);
}

TEST_CASE("files: parts that killed programs left are removed, those of running ones are not") {
  const TemporaryFolder folder;
  const std::string target = folder.path("a.json");
  const pid_t ended = ::fork();
  if (ended == 0) ::_exit(0);
  REQUIRE(::waitpid(ended, nullptr, 0) == ended);
  folder.file("a.json.part-" + std::to_string(ended), "left behind");
  const std::string running = folder.file("a.json.part-" + std::to_string(::getppid()), "in use"),
                    other = folder.file("b.json.part-" + std::to_string(ended), "of another target"),
                    copy = folder.file("a.json.part-" + std::to_string(ended) + "-copy", "a person's own");
  REQUIRE(write_file(target, "x"));
  CHECK(std::filesystem::exists(running));
  CHECK(std::filesystem::exists(other));
  CHECK(std::filesystem::exists(copy));
  CHECK(folder.entries() == 4);
}

TEST_CASE("files: a link to a file that is not there yet makes that file") {
  const TemporaryFolder folder;
  std::filesystem::create_symlink("target", folder.path("link"));
  REQUIRE(check_writable(folder.path("link")));
  REQUIRE(write_file(folder.path("link"), "x"));
  CHECK(std::filesystem::is_symlink(folder.path("link")));
  CHECK(content_of(folder.path("target")) == "x");
}

TEST_CASE("files: a folder and a read-only file are refused before anything is written") {
  const TemporaryFolder folder;
  CHECK(check_writable(folder.path(".")).error().sentence.text().find("it is a folder") != std::string::npos);
  CHECK_FALSE(check_writable(folder.path(std::string(300, 'x'))));
  CHECK_FALSE(check_writable(folder.path("none/a.txt")));
  if (::geteuid() != 0) {  // root may write everything
    const std::string fixed = folder.file("fixed", "x");
    std::filesystem::permissions(fixed, std::filesystem::perms::owner_read);
    CHECK(check_writable(fixed).error().sentence == "cannot write " + fixed + ": Permission denied");
  }
  CHECK(folder.entries() <= 1);
}

TEST_CASE("files: two names of one file are the same file, whether it is there or not") {
  const TemporaryFolder folder;
  const std::string file = folder.file("a", "x");
  std::filesystem::create_symlink("a", folder.path("link"));
  std::filesystem::create_symlink("gone", folder.path("dangling"));
  std::filesystem::create_directory(folder.path("below"));
  std::filesystem::create_hard_link(file, folder.path("hard"));
  CHECK(same_file(file, folder.path("./a")));
  CHECK(same_file(file, folder.path("below/../a")));
  CHECK(same_file(file, folder.path("link")));
  CHECK(same_file(file, folder.path("hard")));
  CHECK(same_file(folder.path("gone"), folder.path("./gone")));
  CHECK(same_file(folder.path("gone"), folder.path("dangling")));
  CHECK(same_file("not-there", "./not-there"));
  CHECK_FALSE(same_file(file, folder.path("gone")));
  CHECK_FALSE(same_file(file, folder.path("below")));
  CHECK_FALSE(same_file("/dev/null", "/dev/null"));  // what is written there overwrites nothing
}

TEST_CASE("files: a pipe is written directly") {
  CHECK(write_file("/dev/null", "x"));
  CHECK(std::filesystem::is_character_file("/dev/null"));
}

}  // namespace tilescope
