#include "io/data/data_file.hpp"

namespace zero {
namespace {

std::unique_ptr<InputFile> opened(const std::string& path, const std::string& advice) {
  try {
    return std::make_unique<InputFile>(path);
  } catch (const Error& error) {
    refuse(error.exit(), error.what(), "; ", advice);
  }
}

}  // namespace

DataFile::DataFile(const std::string& path, std::string advice)
    : advice_(std::move(advice)), file_(opened(path, advice_)) {
  if (bytes() == 0) refuse(Exit::kInput, path, ": is empty; ", advice_);
}

}  // namespace zero
