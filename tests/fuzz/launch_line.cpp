/// Any words, split at the control character US, behind -- beside a configuration of Accelerate and
/// a file of DeepSpeed that leave most to them.

#include <unistd.h>

#include "tests/fuzz/imported.hpp"
#include "tests/support/temp_file.hpp"

namespace {

const char* kDeepSpeed = R"({"train_batch_size": "auto", "gradient_clipping": "auto",
    "optimizer": {"type": "AdamW", "params": {"lr": "auto", "betas": "auto"}},
    "scheduler": {"type": "WarmupLR", "params": {"warmup_num_steps": "auto"}},
    "fp16": {"enabled": "auto"}, "bf16": {"enabled": "auto"}, "zero_optimization": {"stage": 2}})";
const char* kAccelerate =
    "distributed_type: DEEPSPEED\nmixed_precision: bf16\nnum_processes: 8\n"
    "deepspeed_config:\n  zero_stage: 2\nfsdp_config: {sharding_strategy: FULL_SHARD}\n";

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const zero::testing_support::TempFile json("line.json", kDeepSpeed),
      yaml("line.yaml", kAccelerate);
  const auto words = zero::split({reinterpret_cast<const char*>(data), size});
  zero::check_import(json.path(), words, zero::Unsupported::refuse);
  zero::check_import(yaml.path(), words, zero::Unsupported::leave_out);
  return 0;
}
