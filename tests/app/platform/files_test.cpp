// Reading and writing whole files: what is refused, and that nothing is left half-written.
#include "app/platform/files.h"

#include <unistd.h>

#include <fstream>
#include <sstream>

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

TEST_CASE("files: an empty, binary, missing, too large or special file is refused with its path and the reason") {
  const TemporaryFolder folder;
  const auto error = [](const std::string& path, std::size_t limit = largest_text_bytes) {
    const auto text = read_text_file(path, limit);
    REQUIRE_FALSE(text);
    CHECK(text.error().sentence.find("cannot read " + path + ": ") == 0);
    return text.error().sentence.substr(("cannot read " + path + ": ").size());
  };
  CHECK(error(folder.file("empty", "")) == "it is empty");
  CHECK(error(folder.file("binary", std::string("a\0b", 3))) == "it is binary, not text");
  CHECK(error(folder.file("large", "12345"), 4) == "it is larger than 4 bytes");
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
  CHECK(write_file(folder.path("."), "x").error().sentence.find("it is a folder") != std::string::npos);
  CHECK_FALSE(check_writable(folder.path("none/a.txt")));
  CHECK(check_writable(folder.path("a.txt")));
  CHECK(check_writable("/dev/null"));
  CHECK(write_file(folder.path("none/a.txt"), "x").error().sentence.find("there is no folder") != std::string::npos);
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

TEST_CASE("files: a pipe is written directly") {
  CHECK(write_file("/dev/null", "x"));
  CHECK(std::filesystem::is_character_file("/dev/null"));
}

}  // namespace tilescope
