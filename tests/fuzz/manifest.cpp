/// Any members with a right SHA-256 behind them are a manifest that reads the same after it was
/// written, or one error of an input or of a newer version.

#include "zero/io/checkpoint/manifest.hpp"

#include <cstdint>
#include <span>
#include <string>

#include "io/checkpoint/manifest_rules.hpp"
#include "zero/base/error.hpp"

namespace zero::checkpoint {
namespace {

void check(const std::string& text) {
  try {
    const Manifest manifest = parse_manifest(text, "manifest");
    ZERO_REQUIRE(parse_manifest(to_text(manifest), "again") == manifest, "another manifest");
  } catch (const Error& error) {
    ZERO_REQUIRE(error.exit() == Exit::kInput || error.exit() == Exit::kNoCheckpoint, error.what());
  }
}

}  // namespace
}  // namespace zero::checkpoint

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string members(reinterpret_cast<const char*>(data), size);
  zero::checkpoint::check(zero::checkpoint::sealed(members));
  zero::checkpoint::check(members);
  return 0;
}
