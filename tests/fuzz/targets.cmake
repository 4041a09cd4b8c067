# Every fuzz target: <name>.cpp defines LLVMFuzzerTestOneInput, which throws when something is
# wrong. FOLDERS are compiled with it by clang, LINKS is their library in the main build, SEEDS a folder of
# good inputs; all of them relative to the root of the tree.
zero_fuzz_target(read_config FOLDERS src/base src/config LINKS zero_config SEEDS inputs)
