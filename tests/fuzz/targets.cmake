# Every fuzz target: <name>.cpp defines LLVMFuzzerTestOneInput, which throws when something is
# wrong. FOLDERS of sources are compiled with it by clang, SEEDS is a folder of good inputs, both
# relative to the root of the tree; LINKS is the library of those sources in the main build.
zero_fuzz_target(read_config FOLDERS src/base src/config LINKS zero_config SEEDS inputs)
zero_fuzz_target(safetensors FOLDERS src/base io/files io/interop LINKS zero_io
                 SEEDS tests/fuzz/seeds/safetensors)
