// Ranks: 1
#include "zero/advise/placement.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/models.hpp"
#include "zero/advise/plan_report.hpp"
#include "zero/compile/compile.hpp"
#include "zero/config/read_config.hpp"
#include "zero/plan/forecast.hpp"

namespace zero::advise {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

const setup::World kAlone{.ranks = 1};
constexpr int64_t kPlenty = int64_t(1) << 40;

/// One step of a model of layers + 1 units.
RunConfig one_step(int64_t layers, int64_t width) {
  RunConfig config;
  config.model = testing_support::model_config(
      {.counts = {{"layers", layers}, {"width", width}, {"heads", 2}}, .rates = {{"dropout", 0}}});
  config.data.train = "synthetic";
  config.data.sequence_length = 32;
  config.run.steps = 1;
  return config;
}

RunConfig with_states_on(Home home) {
  RunConfig config = one_step(8, 64);
  config.train_batch_size = 1;
  config.zero.stage = 1;
  config.offload_optimizer.device = home;
  return config;
}

/// A machine whose host is far slower than the way to the device.
plan::Machine slow_host() {
  return {.name = "test",
          .product_flops = 1e12,
          .has_memory = true,
          .memory_bandwidth = 1e12,
          .host_bandwidth = 1e6,
          .copy_bandwidth = 1e12};
}

MemoryLimit device_limit(const setup::Build& build) {
  return {.bytes = build.plan.arena_bytes[size_t(plan::Tier::device)],
          .source = "memory.device_limit",
          .host_bytes = 0,
          .host_source = ""};
}

TEST(Placement, StreamsStatesWhereTheHostIsSlowAndSaysSo) {
  const RunConfig asked = with_states_on(Home::cpu);
  const Placement placement = choose_placement(asked, kAlone, {}, slow_host());
  EXPECT_GE(placement.shares.on_device, 0.875);
  const plan::UpdateSites sites = plan::update_sites(placement.build.plan);
  EXPECT_GE(sites.on_device, 7);
  EXPECT_EQ(sites.on_device + sites.on_host, 9);
  EXPECT_THAT(placement.text(), HasSubstr(text("beside the device: ", sites.on_device, " on it")));
  const PlanReport report = report_plan(placement.build, slow_host(), {});
  EXPECT_THAT(plan_json(report), HasSubstr(text("\"streamed_to_device\": ", sites.on_device)));
}

TEST(Placement, UpdatesOnTheHostWhereTheDeviceIsTheHost) {
  const RunConfig asked = with_states_on(Home::cpu);
  const Placement placement =
      choose_placement(asked, kAlone, {}, plan::machine_profile("host", Dtype::f32));
  EXPECT_EQ(placement.shares.on_device, 0);
  EXPECT_EQ(plan::update_sites(placement.build.plan).on_host, 9);
  EXPECT_EQ(placement.build.plan.hash(), setup::build(placement.config, kAlone).plan.hash());
  EXPECT_EQ(placement.text(), "zero.offload_optimizer.buffer_count = \"auto\" is 4\n");
}

TEST(Placement, StreamsNoMoreThanTheDeviceHolds) {
  const RunConfig asked = with_states_on(Home::cpu);
  Placement least = choose_placement(asked, kAlone, {}, slow_host());
  const MemoryLimit roomy = device_limit(least.build);
  EXPECT_EQ(choose_placement(asked, kAlone, roomy, slow_host()).shares.on_device,
            least.shares.on_device);
  MemoryLimit tight = roomy;
  --tight.bytes;
  const Placement less = choose_placement(asked, kAlone, tight, slow_host());
  EXPECT_LT(less.shares.on_device, least.shares.on_device);
  EXPECT_TRUE(fits(less.build, tight));
  tight = device_limit(setup::build(least.config, kAlone));
  const Placement none = choose_placement(asked, kAlone, tight, slow_host());
  EXPECT_EQ(none.shares.on_device, 0);
  EXPECT_TRUE(fits(none.build, tight));
}

TEST(Placement, ChoosesHomesBuffersAndSitesOneBehindTheOther) {
  RunConfig asked = with_states_on(Home::automatic);
  MemoryLimit limit = device_limit(setup::build(with_states_on(Home::cpu), kAlone));
  ConfigInput input;
  input.config = asked;
  for (const char* key : {"zero.offload_optimizer.device", "zero.offload_optimizer.buffer_count"})
    input.origins[key] = "default";
  const Placement placement = choose_placement(asked, kAlone, limit, slow_host());
  EXPECT_EQ(placement.config.offload_optimizer.device, Home::cpu);
  EXPECT_EQ(placement.config.offload_optimizer.buffer_count, 4);
  EXPECT_TRUE(fits(placement.build, limit));
  EXPECT_THAT(placement.text(), HasSubstr("device = \"auto\" is \"cpu\""));
  note_choices(placement.choices, input);
  EXPECT_THAT(input.origins.at("zero.offload_optimizer.device"), HasSubstr("chosen: \"cpu\""));
  EXPECT_THAT(input.origins.at("zero.offload_optimizer.buffer_count"), HasSubstr("chosen: 4"));
}

/// Stage 3, both homes "auto"; ten units, so that shares can be told apart, and large enough that a
/// disk needs less host memory, for its window, than states there do.
RunConfig free_to_choose() {
  RunConfig config = one_step(9, 256);
  config.train_batch_size = 2;
  config.zero.stage = 3;
  config.zero.stage3_max_reuse_distance = 0;
  config.zero.stage3_prefetch_bucket_size = 0;
  config.offload_optimizer = {.device = Home::automatic, .nvme_path = "disk", .buffer_count = 1};
  config.offload_param = {.device = Home::automatic, .nvme_path = "disk"};
  return config;
}

RunConfig with_homes(Home optimizer, Home parameters, double ratio = 1) {
  RunConfig config = free_to_choose();
  config.offload_optimizer.device = optimizer;
  config.offload_optimizer.ratio = ratio;
  config.offload_param.device = parameters;
  return config;
}

int64_t device_bytes(const RunConfig& config) {
  return setup::build(config, kAlone).plan.arena_bytes[size_t(plan::Tier::device)];
}
int64_t disk_bytes(const RunConfig& config) {
  return setup::build(config, kAlone).plan.arena_bytes[size_t(plan::Tier::nvme)];
}

/// The limits of the device and, 0 for no limit, of the host.
MemoryLimit limit_of(int64_t device, int64_t host = 0) {
  return {.bytes = device,
          .source = "memory.device_limit",
          .host_bytes = host,
          .host_source = "memory.host_limit"};
}

void expect_homes(const HomeChoice& choice, Home optimizer, Home parameters) {
  EXPECT_TRUE(choice.fits);
  EXPECT_EQ(choice.config.offload_optimizer.device, optimizer);
  EXPECT_EQ(choice.config.offload_param.device, parameters);
}

TEST(Homes, AreTriedFromTheFastestOn) {
  std::vector<std::pair<Home, Home>> pairs;
  for (const RunConfig& candidate : home_candidates(free_to_choose())) {
    pairs.emplace_back(candidate.offload_optimizer.device, candidate.offload_param.device);
  }
  const std::vector<std::pair<Home, Home>> expected = {
      {Home::none, Home::none}, {Home::cpu, Home::none}, {Home::cpu, Home::cpu},
      {Home::nvme, Home::none}, {Home::nvme, Home::cpu}, {Home::nvme, Home::nvme}};
  EXPECT_EQ(pairs, expected);
}

TEST(Homes, OfNoDiskAreThoseInMemory) {
  RunConfig config = free_to_choose();
  config.offload_optimizer.nvme_path = config.offload_param.nvme_path = "";
  EXPECT_THAT(home_candidates(config), SizeIs(3));
  config.offload_param.device = Home::none;
  EXPECT_THAT(home_candidates(config), SizeIs(2));
}

TEST(Homes, AreLeftAloneWhereNothingIsToBeChosen) {
  const RunConfig config = with_homes(Home::cpu, Home::none, 0.5);
  EXPECT_FALSE(chooses_homes(config));
  EXPECT_EQ(choose_homes(config, kAlone, limit_of(1)).config, config);
  EXPECT_EQ(choices_text(home_choices(config, choose_homes(config, kAlone, {}))), "");
}

TEST(Homes, AreTheDeviceWhereAllFits) {
  const int64_t all = device_bytes(with_homes(Home::none, Home::none));
  const HomeChoice choice = choose_homes(free_to_choose(), kAlone, limit_of(all));
  expect_homes(choice, Home::none, Home::none);
  EXPECT_TRUE(choice.faster.empty());
  expect_homes(choose_homes(free_to_choose(), kAlone, {}), Home::none, Home::none);
}

TEST(Homes, LeaveTheShareOfStatesThatHaveAHomeAlready) {
  RunConfig config = with_homes(Home::cpu, Home::automatic);
  const HomeChoice choice = choose_homes(config, kAlone, {});
  expect_homes(choice, Home::cpu, Home::none);
  EXPECT_EQ(choice.config.offload_optimizer.ratio, 1);
}

TEST(Homes, LeaveOnTheDeviceAsManyStatesAsFit) {
  const int64_t half = device_bytes(with_homes(Home::cpu, Home::none, 0.5));
  const HomeChoice choice = choose_homes(free_to_choose(), kAlone, limit_of(half));
  expect_homes(choice, Home::cpu, Home::none);
  const double share = choice.config.offload_optimizer.ratio;
  EXPECT_LE(share, 0.5);
  EXPECT_LE(device_bytes(choice.config), half);
  EXPECT_GT(device_bytes(with_homes(Home::cpu, Home::none, share - 1.0 / 32)), half);
}

TEST(Homes, TakeNoMoreStatesAwayThanTheRatioAllows) {
  RunConfig config = free_to_choose();
  config.offload_optimizer.ratio = 0.5;
  const int64_t most = device_bytes(with_homes(Home::cpu, Home::none, 0.5));
  const HomeChoice allowed = choose_homes(config, kAlone, limit_of(most));
  expect_homes(allowed, Home::cpu, Home::none);
  EXPECT_LE(allowed.config.offload_optimizer.ratio, 0.5);
  EXPECT_NE(choose_homes(config, kAlone, limit_of(most - 1)).config.offload_param.device,
            Home::none);
}

TEST(Homes, KeepParametersOnTheDeviceUntilAllStatesHaveLeft) {
  const int64_t states = device_bytes(with_homes(Home::cpu, Home::none));
  expect_homes(choose_homes(free_to_choose(), kAlone, limit_of(states)), Home::cpu, Home::none);
  expect_homes(choose_homes(free_to_choose(), kAlone, limit_of(states - 1)), Home::cpu, Home::cpu);
}

TEST(Homes, TakeADiskWhereHostMemoryIsShort) {
  const RunConfig on_host = with_homes(Home::cpu, Home::none),
                  on_disk = with_homes(Home::nvme, Home::none);
  const int64_t device = std::max(device_bytes(on_host), device_bytes(on_disk));
  const int64_t host = host_bytes(setup::build(on_disk, kAlone));
  const HomeChoice choice = choose_homes(free_to_choose(), kAlone, limit_of(device, host));
  expect_homes(choice, Home::nvme, Home::none);
  EXPECT_THAT(choice.faster.back(), HasSubstr("of host memory"));
}

TEST(Homes, TakeNoDiskWithoutRoom) {
  MemoryLimit limit = limit_of(device_bytes(with_homes(Home::nvme, Home::nvme)), kPlenty);
  limit.host_bytes = host_bytes(setup::build(with_homes(Home::nvme, Home::nvme), kAlone));
  const int64_t needed = disk_bytes(with_homes(Home::nvme, Home::nvme));
  limit.disk.both = needed;
  expect_homes(choose_homes(free_to_choose(), kAlone, limit), Home::nvme, Home::nvme);
  limit.disk.both = needed - 1;
  const HomeChoice choice = choose_homes(free_to_choose(), kAlone, limit);
  EXPECT_FALSE(choice.fits);
  EXPECT_THAT(choice.faster.back(), HasSubstr(" on disk a rank of "));
}

TEST(Homes, SayWhyNothingFits) {
  const HomeChoice choice = choose_homes(free_to_choose(), kAlone, limit_of(1));
  EXPECT_FALSE(choice.fits);
  EXPECT_THAT(choice.faster, SizeIs(6));
  EXPECT_THAT(choice.faster.front(), HasSubstr("\"none\" and parameters \"none\" needs "));
  EXPECT_EQ(choice.config.offload_param.device, Home::nvme) << "the last that was tried";
}

TEST(Homes, AreToldBesideTheKeysThatStayAsTheyAre) {
  ConfigInput input = read_config(
      "train_batch_size = 2\n[model]\nlayers = 9\nwidth = 256\nheads = 2\n[data]\n"
      "train = \"synthetic\"\nsequence_length = 32\n[run]\nsteps = 1\n[zero]\nstage = 1\n"
      "[zero.offload_optimizer]\ndevice = \"auto\"\n",
      "tiny.toml");
  const int64_t all = device_bytes(input.config.offload_optimizer.device == Home::automatic
                                       ? with_homes(Home::none, Home::none)
                                       : input.config);
  const HomeChoice choice = choose_homes(input.config, kAlone, limit_of(all * 3 / 4));
  const Choices choices = home_choices(input.config, choice);
  EXPECT_THAT(choices_text(choices),
              HasSubstr("zero.offload_optimizer.device = \"auto\" is \"cpu\" with ratio "));
  note_choices(choices, input);
  const std::string written = effective_toml(input);
  EXPECT_THAT(written, HasSubstr("device = \"auto\"  # tiny.toml:14; chosen: \"cpu\" with ratio "));
  EXPECT_THAT(written, HasSubstr(", since \"none\" needs "));
  EXPECT_EQ(read_config(written, "effective.toml").config.offload_optimizer.device,
            Home::automatic);
  EXPECT_EQ(with_asked_homes(choice.config, input.config), input.config);
}

TEST(PinsHost, UnlessWhatLeavesTheDeviceIsNotToBePinned) {
  EXPECT_TRUE(setup::pins_host(with_homes(Home::cpu, Home::cpu)));
  RunConfig config = with_homes(Home::cpu, Home::none);
  config.offload_optimizer.pin_memory = false;
  EXPECT_FALSE(setup::pins_host(config));
  EXPECT_FALSE(setup::build(config, kAlone).plan.request.pinned_host);
  config.offload_optimizer.device = Home::none;
  EXPECT_TRUE(setup::pins_host(config)) << "nothing leaves";
  config.offload_param = {.device = Home::cpu, .nvme_path = "", .pin_memory = false};
  EXPECT_FALSE(setup::pins_host(config));
}

TEST(VainPinMemory, IsToldWithItsLineWhereNoDeviceHasMemory) {
  const std::string file =
      "model.name = \"gpt2\"\ndata.train = \"synthetic\"\nrun.steps = 1\nzero.stage = 1\n"
      "zero.offload_optimizer.device = \"cpu\"\n";
  const ConfigInput input =
      read_config(file + "zero.offload_optimizer.pin_memory = false\n", "in.toml");
  EXPECT_TRUE(input.warnings.empty()) << "only a build knows its device";
  EXPECT_THAT(vain_pin_memory(input, false),
              HasSubstr("in.toml:6: zero.offload_optimizer.pin_memory: false changes nothing"));
  EXPECT_EQ(vain_pin_memory(input, true), "");
  EXPECT_EQ(vain_pin_memory(read_config(file, "in.toml"), false), "");
}

/// A model of 21 units, with states on disk.
RunConfig on_disk(int64_t buffers = 0) {
  RunConfig config;
  config.model = testing_support::model_config(
      {.counts = {{"layers", 20}, {"width", 64}, {"heads", 2}}, .rates = {{"dropout", 0}}});
  config.data.train = "synthetic";
  config.data.sequence_length = 32;
  config.run.steps = 1;
  config.train_batch_size = 1;
  config.zero.stage = 1;
  config.offload_optimizer = {.device = Home::nvme, .nvme_path = "disk", .buffer_count = buffers};
  return config;
}

plan::Machine unmeasured() { return plan::machine_profile("host", Dtype::f32); }

MemoryLimit limit_with(int64_t buffers) {
  const setup::Build build = setup::build(on_disk(buffers), kAlone);
  return {.bytes = build.plan.arena_bytes[size_t(plan::Tier::device)],
          .source = "memory.device_limit",
          .host_bytes = host_bytes(build),
          .host_source = "memory.host_limit"};
}

/// Limits that the user has given are used to the last byte.
RunConfig limited() {
  RunConfig config = on_disk();
  config.memory.host_limit = 1;
  return config;
}

TEST(Buffers, AreThoseThatWereAskedFor) {
  EXPECT_FALSE(chooses_buffers(on_disk(3)));
  EXPECT_EQ(choose_buffers(on_disk(3), kAlone, {}, unmeasured()), 3);
  RunConfig nowhere = on_disk();
  nowhere.offload_optimizer.device = Home::none;
  EXPECT_FALSE(chooses_buffers(nowhere));
}

TEST(Buffers, AreAsManyAsHideADiskAsSlowAsComputeWhereMemoryHoldsThem) {
  const int64_t buffers = choose_buffers(on_disk(), kAlone, {}, unmeasured());
  EXPECT_GT(buffers, 2 * plan::kLeastStagedUnits);
  EXPECT_LT(buffers, 21);
  EXPECT_EQ(choose_buffers(limited(), kAlone, limit_with(buffers), unmeasured()), buffers);
}

TEST(Buffers, AreAsManyAsMemoryHoldsAndAtLeastOne) {
  for (int64_t buffers : {7, 2}) {
    EXPECT_EQ(choose_buffers(limited(), kAlone, limit_with(buffers), unmeasured()), buffers);
  }
  MemoryLimit little = limit_with(1);
  --little.host_bytes;
  EXPECT_EQ(choose_buffers(limited(), kAlone, little, unmeasured()), 1);
}

TEST(Buffers, AreToldWhereTheyWereChosen) {
  ConfigInput input;
  input.config = on_disk();
  input.origins["zero.offload_optimizer.buffer_count"] = "default";
  const Choices choices = buffer_choices(on_disk(), on_disk(9));
  EXPECT_EQ(choices_text(choices), "zero.offload_optimizer.buffer_count = \"auto\" is 9\n");
  EXPECT_TRUE(buffer_choices(on_disk(9), on_disk(9)).empty());
  note_choices(choices, input);
  EXPECT_EQ(input.origins.at("zero.offload_optimizer.buffer_count"), "default; chosen: 9");
}

}  // namespace
}  // namespace zero::advise
