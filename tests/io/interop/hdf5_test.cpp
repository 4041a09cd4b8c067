// Ranks: 1
#include "zero/io/interop/hdf5.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/content_of.hpp"
#include "tests/support/small_checkpoint.hpp"
#include "zero/base/error.hpp"

namespace zero {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using testing_support::content_of;
using testing_support::TempFolder;

const SafetensorsWriter::Content kContent = {.dtype = Dtype::bf16,
                                             .tensors = {{"a.weight", {2, 3}}, {"b", {2}}},
                                             .metadata = {{"format", "pt"}}};

/// That h5py reads the values is seen in runs/checkpoints.py.
TEST(Hdf5Writers, LayEachTensorDownAsOneRowOfBytes) {
  const TempFolder place("hdf5-writer");
  const std::string path = place.path() + "/model.h5";
  std::vector<bf16> values;
  for (int i = 0; i < 8; ++i) values.emplace_back(float(i) / 2);
  const auto bytes = std::as_bytes(std::span(values));
  Hdf5Writer writer(path, kContent);
  writer.write(bytes.first(7));
  writer.write(bytes.subspan(7));
  writer.publish();
  const std::string content = content_of(path);
  const std::string_view raw(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  EXPECT_THAT(content, StartsWith("\x89HDF\r\n"));
  for (const auto& name : {"a.weight", "b", "format"}) EXPECT_THAT(content, HasSubstr(name));
  EXPECT_THAT(content, HasSubstr(std::string(raw.substr(0, 12))));
  EXPECT_THAT(content, HasSubstr(std::string(raw.substr(12))));
}

TEST(Hdf5Writers, WantAllOfThemAndOverwriteNothing) {
  const TempFolder place("hdf5-writer");
  const std::string path = place.path() + "/model.h5";
  Hdf5Writer writer(path, kContent);
  EXPECT_THROW(writer.publish(), Error);
  EXPECT_THROW(Hdf5Writer(path, kContent), Error);
  EXPECT_THROW(Hdf5Writer(place.path() + "/absent/model.h5", kContent), Error);
}

}  // namespace
}  // namespace zero
