# Every fuzz target: <name>.cpp defines LLVMFuzzerTestOneInput, which throws when something is
# wrong. FOLDERS of sources and FILES, which are patterns, are compiled with it by clang, SEEDS is a
# folder of good inputs, all relative to the root of the tree; LINKS is the library of those sources
# in the main build.
zero_fuzz_target(read_config FOLDERS src/base src/config LINKS zero_config SEEDS inputs)
zero_fuzz_target(safetensors FOLDERS src/base io/files
                 FILES io/interop/json.cpp io/interop/safetensors_*.cpp LINKS zero_io
                 SEEDS tests/fuzz/seeds/safetensors)
zero_fuzz_target(manifest FOLDERS src/base FILES io/checkpoint/manifest_*.cpp io/interop/json.cpp
                 LINKS zero_io SEEDS tests/fuzz/seeds/manifest)
zero_fuzz_target(shard FOLDERS src/base io/files
                 FILES io/checkpoint/manifest_*.cpp io/checkpoint/shard_reader.cpp
                       io/checkpoint/file_digest.cpp io/checkpoint/open_plain.cpp
                       io/interop/json.cpp
                 LINKS zero_io SEEDS tests/fuzz/seeds/shard)
