// Ranks: 1
#include "zero/advise/machine_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/refusal.hpp"
#include "tests/support/temp_file.hpp"
#include "zero/base/error.hpp"

namespace zero::advise {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using testing_support::refusal_of;
using testing_support::TempFile;

MachineFigures figures() {
  return {.host = "n1",
          .ranks = 2,
          .threads = 3,
          .device_bytes = int64_t(8) << 30,
          .fp32 = 2e11,
          .bf16 = 4e11,
          .stream = 3e10,
          .step_fp32 = 0.9,
          .step_bf16 = 0.5,
          .op_bf16 = 2e-6,
          .random = 5e8,
          .kinds = {{"bf16.linear", 0.75}, {"fp32.gelu", 0.25}, {"fp32.linear", 1.25}},
          .exponentials = {{"bf16.attention", 2e-9}},
          .h2d = 1.2e10,
          .d2h = 1e10,
          .all_gather = 6e9,
          .reduce_scatter = 3e9,
          .latency = 2.5e-6,
          .disk = "/nvme \"0\"",
          .read = 2e9,
          .write = 3e9,
          .mixed = 1.8e9};
}

MachineFigures read(const std::string& content) {
  const TempFile file("machine.toml", content);
  return read_machine_file(file.path());
}

TEST(MachineFile, ReadsWhatItHasWritten) {
  EXPECT_EQ(read(machine_text(figures())), figures());
  MachineFigures one = figures();
  one.ranks = 1;
  one.all_gather = one.reduce_scatter = one.latency = one.read = one.write = one.mixed = 0;
  one.disk = "";
  EXPECT_EQ(read(machine_text(one)), one);
  EXPECT_THAT(machine_text(one), AllOf(Not(HasSubstr("[collectives]")), Not(HasSubstr("[disk]"))));
}

TEST(MachineFile, KeepsFourDigitsOfWhatWasMeasured) {
  MachineFigures exact = figures();
  exact.fp32 = 123456789;
  EXPECT_EQ(read(machine_text(exact)).fp32, 1.235e8);
}

TEST(MachineFile, NamesEverythingThatIsWrongAtOnce) {
  const std::string said = refusal_of(Exit::kUsage, [] {
    read(
        "ranks = 0\nthreads = 1\ndevice_bytes = 1e9\n[products]\nfp32 = \"fast\"\n"
        "[memory]\nstream = -1\n[disk]\nreed = 5\n[kinds.fp32]\ngelu = 0\n"
        "[kinds.fp8]\ngelu = 1\n");
  });
  EXPECT_THAT(said, HasSubstr("machine.toml:1: ranks: must be an integer of at least 1"));
  EXPECT_THAT(said, HasSubstr("machine.toml:3: device_bytes: must be an integer"));
  EXPECT_THAT(said, HasSubstr(":5: products.fp32: must be a number above 0"));
  EXPECT_THAT(said, HasSubstr(":7: memory.stream: must be a number above 0"));
  EXPECT_THAT(said, HasSubstr(":9: disk.reed: unknown key"));
  EXPECT_THAT(said, HasSubstr(":11: kinds.fp32.gelu: must be a number above 0"));
  EXPECT_THAT(said, HasSubstr(":13: kinds.fp8.gelu: unknown key"));
  EXPECT_THAT(said, HasSubstr("zeroapp calibrate writes such a file"));
  EXPECT_THAT(refusal_of(Exit::kUsage, [] { read("ranks = 1\n"); }),
              HasSubstr("memory.stream: is missing"));
  EXPECT_THAT(refusal_of(Exit::kUsage, [] { read("ranks = 1 2\n"); }),
              HasSubstr("machine.toml:1: "));
  EXPECT_THAT(refusal_of(Exit::kUsage, [] { read_machine_file("no_such.toml"); }),
              HasSubstr("no_such.toml: No such file"));
}

TEST(MachineFile, GivesForecastsTheirRates) {
  const plan::Machine machine = machine_of(figures(), Dtype::bf16, "m.toml");
  EXPECT_EQ(machine.name, "m.toml");
  EXPECT_EQ(machine.device_bytes, int64_t(8) << 30);
  EXPECT_EQ(machine.product_flops, 2e11) << "half of the rate, as steps reach";
  EXPECT_EQ(machine.memory_bandwidth, 1.5e10);
  EXPECT_EQ(machine.kind_shares.size(), 1u) << "those of the type";
  EXPECT_EQ(machine.kind_shares.at("linear"), 1.5) << "of the rates that steps reach";
  EXPECT_EQ(machine.exponential_seconds.at("attention"), 2e-9);
  EXPECT_EQ(machine.op_seconds, 2e-6);
  EXPECT_EQ(machine.random_rate, 5e8);
  EXPECT_EQ(machine.host_bandwidth, 3e10) << "an optimizer streams";
  EXPECT_FALSE(machine.has_memory);
  EXPECT_EQ(machine.copy_bandwidth, 1e10) << "the slower way";
  EXPECT_DOUBLE_EQ(machine.link_bandwidth, 4e9) << "as much by either verb";
  EXPECT_EQ(machine.link_latency, 2.5e-6);
  EXPECT_EQ(machine.disk_read_bandwidth, 9e8) << "half of what both ways have together";
  EXPECT_EQ(machine.disk_write_bandwidth, 9e8);
}

TEST(MachineFile, OfADeviceHasItsHostsMemoryToo) {
  MachineFigures device = figures();
  device.host_stream = 6e9;
  EXPECT_EQ(read(machine_text(device)), device);
  const plan::Machine machine = machine_of(device, Dtype::bf16, "m.toml");
  EXPECT_TRUE(machine.has_memory);
  EXPECT_EQ(machine.host_bandwidth, 6e9);
  EXPECT_EQ(machine.memory_bandwidth, 1.5e10);
}

TEST(MachineFile, KnowsNodes) {
  MachineFigures nodes = figures();
  EXPECT_THAT(machine_text(nodes),
              AllOf(Not(HasSubstr("gpus_per_node")), Not(HasSubstr("link_gb"))))
      << "of one node";
  nodes.gpus_per_node = 8;
  nodes.communicator_bytes = int64_t(3) << 30;
  nodes.host_bytes = int64_t(1) << 40;
  nodes.link_gb = 240;
  nodes.node_link_gb = 100;
  EXPECT_EQ(read(machine_text(nodes)), nodes);
  const plan::Machine machine = machine_of(nodes, Dtype::bf16, "m.toml");
  EXPECT_EQ(machine.gpus_per_node, 8);
  EXPECT_EQ(machine.communicators.of(8, 8), int64_t(3) << 30);
  EXPECT_EQ(machine.host_bytes, int64_t(1) << 40);
  EXPECT_EQ(machine.link_bandwidth, 240e9) << "and not that over all nodes";
  EXPECT_EQ(machine.node_link_bandwidth, 100e9);
  EXPECT_EQ(machine_of(figures(), Dtype::bf16, "m.toml").node_link_bandwidth, 0) << "not known";
}

TEST(MachineFile, KeepsDefaultsForWhatWasNotMeasuredButProducts) {
  MachineFigures one = figures();
  one.all_gather = one.latency = one.mixed = one.step_fp32 = 0;
  const plan::Machine machine = machine_of(one, Dtype::f32, "m.toml"), unknown;
  EXPECT_EQ(machine.link_bandwidth, unknown.link_bandwidth);
  EXPECT_EQ(machine.link_latency, unknown.link_latency);
  EXPECT_EQ(machine.product_flops, 2e11);
  EXPECT_EQ(machine.disk_read_bandwidth, unknown.disk_read_bandwidth);
  EXPECT_FALSE(machine.disk_is_measured);
  one.mixed = 1;
  EXPECT_TRUE(machine_of(one, Dtype::f32, "m.toml").disk_is_measured) << "however slow it is";
  EXPECT_THAT(refusal_of(Exit::kUsage, [&] { machine_of(one, Dtype::f16, "m.toml"); }),
              HasSubstr("holds no rate of fp16 products"));
}

}  // namespace
}  // namespace zero::advise
