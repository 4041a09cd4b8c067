#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "io/text/bpe_files.hpp"
#include "tests/support/tokenizer_folder.hpp"

namespace zero::testing_support {

/// A folder with vocab.json and merges.txt that goes away with the object. The id of a byte is the
/// byte; the result of merge i is 256 + i, and the entries of `more` follow.
class BpeFolder : public TokenizerFolder {
 public:
  explicit BpeFolder(const std::vector<std::pair<std::string, std::string>>& merges,
                     const std::vector<std::string>& more = {})
      : TokenizerFolder("bpe") {
    std::string lines = "#version: 0.2\n";
    nlohmann::json ids;
    for (int byte = 0; byte < 256; ++byte) ids[bpe_symbol(uint8_t(byte))] = byte;
    for (const auto& [left, right] : merges) {
      ids[left + right] = ids.size();
      lines += left + " " + right + "\n";
    }
    for (const std::string& entry : more) ids[entry] = ids.size();
    write("vocab.json", ids.dump());
    write("merges.txt", lines);
  }
};

}  // namespace zero::testing_support
