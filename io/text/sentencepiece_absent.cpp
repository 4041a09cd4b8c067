#include "io/text/sentencepiece.hpp"
#include "zero/base/error.hpp"

namespace zero {

std::unique_ptr<SentencePieceModel> open_sentencepiece(const std::string&,
                                                       const std::string& path) {
  refuse(Exit::kUsage, path, ": this program was built without SentencePiece; install it (Debian: ",
         "libsentencepiece-dev, or tools/setup.sh), configure again and build");
}

}  // namespace zero
