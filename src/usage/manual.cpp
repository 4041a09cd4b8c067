#include <cstdio>
#include <filesystem>

#include "src/usage/completions.hpp"
#include "src/usage/manual_pages.hpp"
#include "zero/base/error.hpp"
#include "zero/base/path.hpp"
#include "zero/io/files/new_folder.hpp"
#include "zero/io/files/output_file.hpp"
#include "zero/usage/help.hpp"

namespace zero::usage {
namespace {

void write(const std::string& path, const std::string& content) {
  OutputFile file(path);
  file.write(content);
  file.publish();
}

void make_folder(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directory(path, error);
  if (error) refuse(Exit::kIo, path, ": ", path_advice(error.value()));
}

}  // namespace

int manual(const CommandLine& line) {
  const std::vector<KeyHelp> keys = key_help(line.catalogue->models);
  NewFolder folder(line.input);
  for (const char* name : {"man1", "man5", "completions"}) make_folder(folder.file(name));
  write(folder.file("man1/zeroapp.1"), program_page());
  for (const Syntax& command : commands()) {
    write(folder.file(text("man1/zeroapp-", command.word, ".1")), command_page(command));
  }
  write(folder.file("man5/zeroapp-input.5"), input_page(keys));
  write(folder.file("completions/zeroapp.bash"), bash_completion(keys));
  write(folder.file("completions/_zeroapp"), zsh_completion(keys));
  write(folder.file("completions/zeroapp.fish"), fish_completion(keys));
  folder.publish();
  return 0;
}

}  // namespace zero::usage
