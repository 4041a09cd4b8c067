# Tests that start the whole program: Python scripts under runs/, each judged by its last word. A
# fourth argument is a library that the script loads ahead of the program, or another program.
# tools/test.sh gives tests two processors for each that there is: with 1 stand those that wait for
# launchers half of the time or more, with 2 those that compute or watch the clock, with 3 what
# measures the machine.
function(zero_test_program name processors word)
  zero_test_part(${name} ${name} ${processors} ${word} ${ARGN})
endfunction()

# The test `name` of a script that has several.
function(zero_test_part name script processors word)
  add_test(NAME runs.${name}
           COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/runs/${script}.py
                   $<TARGET_FILE:zeroapp> ${MPIEXEC_EXECUTABLE} ${ARGN})
  set_tests_properties(runs.${name} PROPERTIES PROCESSORS ${processors} TIMEOUT 600
                       PASS_REGULAR_EXPRESSION ${word}
                       FAIL_REGULAR_EXPRESSION "Sanitizer:|:[0-9]+: runtime error:"
                       ENVIRONMENT PYTHONDONTWRITEBYTECODE=1)
endfunction()

find_package(Python3 COMPONENTS Interpreter REQUIRED)
zero_test_program(equal_bits 2 "all equal")
zero_test_program(known_losses 1 "the losses of the host")
zero_test_program(offload 2 "every home the same bytes")
zero_test_part(offload_others offload 2 "every home the same bytes" others)
zero_test_program(speculation 2 "updates before the norm are the same updates")
zero_test_program(encoder_decoders 2 "encoder-decoders go all ways")
zero_test_program(decoders 2 "decoders go all ways")
zero_test_program(monitors 2 "every step is shown once")
zero_test_program(seen 2 "a run is seen")
zero_test_program(explain 2 "a run is explained")
zero_test_program(decoder_exports 2 "folders come back as they were")
zero_test_program(length_buckets 2 "lengths change nothing but time")
zero_test_program(packed 2 "documents are learnt as alone")
zero_test_program(scores 2 "scores go all ways")
zero_test_program(data_files 2 "data are prepared once and alike")
zero_test_program(t5_mini 2 "verses are learnt")
zero_test_program(deberta_mini 2 "the older text is told")
set_tests_properties(runs.t5_mini runs.deberta_mini PROPERTIES SKIP_REGULAR_EXPRESSION "SKIP ")
zero_test_program(freeze 2 "what is frozen stays as it is")
zero_test_program(reinit 4 "what is drawn anew is as from nothing")
zero_test_program(classes 2 "labelled texts go all ways")
zero_test_program(class_names 1 "names mean what they say")
zero_test_program(evaluated_texts 2 "answers are the same everywhere")
zero_test_program(optimizers 2 "every optimizer the same bytes")
zero_test_program(refusals 1 "all refused")
zero_test_program(mistakes 1 "each has its status and its sentence")
zero_test_program(said 1 "mistakes are told as they were read")
zero_test_program(address_space 2 "every mistake has its status and its sentence")
zero_test_program(data 1 "all data read")
zero_test_program(options 1 "all options act")
zero_test_program(help 1 "what is typed is explained")
zero_test_program(recipes 1 "the recipes are read")
zero_test_program(onednn 1 "both versions of oneDNN compile" ${CMAKE_CXX_COMPILER})
set_tests_properties(runs.onednn PROPERTIES SKIP_REGULAR_EXPRESSION "SKIP ")
zero_test_program(configuration 1 "all configured")
zero_test_program(signals 2 "all ended in time")
zero_test_program(suspended 1 "halted jobs go on")
zero_test_program(folder 1 "nothing is lost")
zero_test_program(resume 2 "the same bytes")
zero_test_program(resumed_folder 1 "the folder decides")
zero_test_program(begin 1 "all begun as they should")
zero_test_program(damaged_starts 1 "no damage is trained on")
zero_test_program(streaks 1 "every streak is left")
zero_test_program(spikes 2 "every spike is skipped")
zero_test_program(attack_run_folder 1 "every attack ends with a sentence")
zero_test_program(exports 1 "what was ordered is done")
zero_test_program(replaced_data 1 "the data are what a checkpoint says")
zero_test_program(checkpoints 1 "looked at, exported, imported")
zero_test_program(old_formats 1 "every format loads")
zero_test_program(gpu_speed 1 "a speed is measured")
zero_test_program(gpu_check 1 "checks are told apart")
zero_test_program(first_light 1 "every line has its outcome")
zero_test_program(next_visit 1 "every line of a visit has its outcome")
zero_test_program(mutants 2 "what lives is told")
zero_test_program(same_bits 2 "every changed bit is told")
# Four ranks of a job train without an end: beside another test a start takes minutes.
zero_test_program(slurm 4 "jobs go on under Slurm")
set_tests_properties(runs.slurm PROPERTIES SKIP_REGULAR_EXPRESSION "SKIP " TIMEOUT 900)
zero_test_program(lone_machine 1 "two ranks need nothing else")
zero_test_program(ports 1 "no rank listens")
zero_test_program(changes 1 "no part of which does")
zero_test_program(host_changes 2 "have such a change")
zero_test_program(eval 1 "the digits of the run")
zero_test_program(readme 3 "README.md and doc/ keep their word")
zero_test_program(generate 1 "every text repeats")
zero_test_program(import_deepspeed 1 "all articles imported")
zero_test_program(import_generated 1 "0 lost without a word")
zero_test_program(articles 1 "verdicts of the table are printed")
zero_test_program(container 1 "as outside of a container")
zero_test_program(doctor 2 "doctor tells in")
zero_test_program(calibrate 3 "plan and runs read what was measured")
zero_test_program(largest 1 "the largest that fits")
zero_test_program(plan_time 1 "plans take no longer")
zero_test_program(homes 1 "the fastest homes that fit")
zero_test_program(nvme 2 "the same bits on every disk")
zero_test_program(trace 1 "a track a lane")
zero_test_program(product_times 1 "both ways are read")
if(ZERO_DEVICE STREQUAL "host")
  zero_test_program(fake_nccl 2 "stand-in all is the same" $<TARGET_FILE:zeroapp_fake_nccl>)
endif()
if(ZERO_DEVICE STREQUAL "cuda")
  zero_test_program(no_device 1 "nothing of it needs a GPU")
  # cuDNN's plans for a GPU that is only described, taken by a driver's library that has none.
  add_library(fake_driver MODULE support/fake_driver.cpp)
  target_link_options(fake_driver PRIVATE -Wl,-soname,libcuda.so.1)
  add_executable(attention_plans kernels/attention_plans.cpp)
  target_include_directories(attention_plans PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(attention_plans PRIVATE zero_kernels ${CMAKE_DL_LIBS})
  add_dependencies(attention_plans fake_driver)
  add_test(NAME kernels/attention_plans
           COMMAND attention_plans $<TARGET_FILE:fake_driver>
                   ${CMAKE_CURRENT_SOURCE_DIR}/golden/gpu/h200.json)
  set_tests_properties(kernels/attention_plans PROPERTIES TIMEOUT 600
                       PASS_REGULAR_EXPRESSION "every attention has its plans"
                       SKIP_REGULAR_EXPRESSION "SKIP ")
endif()
add_library(kokkos_tool MODULE support/kokkos_tool.cpp)
zero_test_program(tools 1 "regions reach tools" $<TARGET_FILE:kokkos_tool>)

# The compiled side of runs/bpe.py, which tests/campaigns.txt starts: it needs a Python package.
add_executable(bpe_ids runs/bpe_ids.cpp)
target_link_libraries(bpe_ids PRIVATE zero_io)
target_include_directories(bpe_ids PRIVATE ${PROJECT_SOURCE_DIR})
# The compiled side of runs/tokenizer_json.py, likewise.
add_executable(tokenizer_json_ids runs/tokenizer_json_ids.cpp)
target_link_libraries(tokenizer_json_ids PRIVATE zero_io)
target_include_directories(tokenizer_json_ids PRIVATE ${PROJECT_SOURCE_DIR})
# That of runs/text_ids.py, likewise.
add_executable(text_ids runs/text_ids.cpp)
target_link_libraries(text_ids PRIVATE zero_io)
target_include_directories(text_ids PRIVATE ${PROJECT_SOURCE_DIR})
# That of runs/class_ids.py, likewise.
add_executable(class_ids runs/class_ids.cpp)
target_link_libraries(class_ids PRIVATE zero_io)
target_include_directories(class_ids PRIVATE ${PROJECT_SOURCE_DIR})

# Digests of files that runs/hostile.py has forged.
add_executable(reseal runs/reseal.cpp)
target_link_libraries(reseal PRIVATE zero_io)
target_include_directories(reseal PRIVATE ${PROJECT_SOURCE_DIR})
zero_test_program(hostile 2 "none is taken" $<TARGET_FILE:reseal>)
zero_test_program(replay 2 "every step is as it was" $<TARGET_FILE:reseal>)

# Bytes over a disk tier, which runs/disk.py starts where disks are full, fail or are no disks.
add_executable(swap_bytes runs/swap_bytes.cpp)
target_link_libraries(swap_bytes PRIVATE zero_io)
zero_test_program(disk 1 "the same bytes on every disk" $<TARGET_FILE:swap_bytes>)

# The plan of a step as JSON, which tools/step_picture.py draws.
add_executable(print_step runs/print_step.cpp)
target_link_libraries(print_step PRIVATE zero_train nlohmann_json::nlohmann_json)
zero_test_program(picture 1 "the pictures are of a plan and a run" $<TARGET_FILE:print_step>)

# What a sanitizer adds to memory would be counted, and it wants to be the first library itself.
if(NOT ZERO_SANITIZE)
  foreach(library count_malloc count_sends)
    add_library(${library} MODULE support/${library}.cpp)
    # A counter in front of malloc must not need memory for its own thread-local variable.
    target_compile_options(${library} PRIVATE -ftls-model=initial-exec)
    target_link_libraries(${library} PRIVATE MPI::MPI_CXX ${CMAKE_DL_LIBS})
  endforeach()
  add_library(lazy_memory MODULE support/lazy_memory.cpp)
  target_include_directories(lazy_memory PRIVATE ${PROJECT_SOURCE_DIR}/include)
  target_link_libraries(lazy_memory PRIVATE MPI::MPI_CXX)
  zero_test_program(late_memory 2 "no plan dies in a step" $<TARGET_FILE:lazy_memory>)
  if(ZERO_DEVICE STREQUAL "host")
    add_library(broken_card MODULE support/broken_card.cpp support/fake_cuda.cpp
                                   support/fake_cuda_names.cpp
                                   ${PROJECT_SOURCE_DIR}/src/device/gpu/errors.cpp)
    target_include_directories(broken_card PRIVATE ${PROJECT_SOURCE_DIR}
                               ${PROJECT_SOURCE_DIR}/include support/fake_cuda)
    target_link_libraries(broken_card PRIVATE MPI::MPI_CXX)
    zero_test_program(broken_card 2 "every fault has its status" $<TARGET_FILE:broken_card>)
  endif()
  add_library(fault_calls MODULE support/fault_calls.cpp)
  target_link_libraries(fault_calls PRIVATE ${CMAKE_DL_LIBS})
  zero_test_program(kill_save 1 "no acknowledged checkpoint is lost" $<TARGET_FILE:fault_calls>)
  zero_test_program(save_faults 1 "no fault is hidden" $<TARGET_FILE:fault_calls>)
  zero_test_program(saves 1 "all saves act" $<TARGET_FILE:fault_calls>)
  zero_test_program(overtaken_saves 2 "saves read what they found" $<TARGET_FILE:fault_calls>)
  zero_test_part(room_of_saves overtaken_saves 2 "saves read what they found"
                 $<TARGET_FILE:fault_calls> room)
  zero_test_program(slow_disk 1 "slow disks are waited for" $<TARGET_FILE:fault_calls>)
  zero_test_program(lone_failure 2 "all ranks end with one" $<TARGET_FILE:fault_calls>)
  zero_test_program(dead_rank 2 "no rank outlives another" $<TARGET_FILE:fault_calls>)
  zero_test_program(early_stops 1 "nothing is lost so early" $<TARGET_FILE:fault_calls>)
  zero_test_program(stopped_rank 1 "whoever is stopped is missed" $<TARGET_FILE:fault_calls>)
  add_library(other_hosts MODULE support/other_hosts.cpp)
  target_link_libraries(other_hosts PRIVATE MPI::MPI_CXX)
  zero_test_program(nodes 3 "plans know their nodes" $<TARGET_FILE:other_hosts>)
  zero_test_program(two_levels 2 "levels change no bit" $<TARGET_FILE:other_hosts>)
  zero_test_program(groups 2 "groups change no bit" $<TARGET_FILE:other_hosts>)
  zero_test_program(two_levels_network 2 "what the network carries")
  set_tests_properties(runs.two_levels_network PROPERTIES SKIP_REGULAR_EXPRESSION "SKIP ")
  zero_test_program(network 2 "the network fails and the run does not" $<TARGET_FILE:fault_calls>)
  set_tests_properties(runs.network PROPERTIES SKIP_REGULAR_EXPRESSION "SKIP ")
  zero_test_program(placement 2 "every rank has its place")
  set_tests_properties(runs.placement PROPERTIES SKIP_REGULAR_EXPRESSION "SKIP ")
  zero_test_program(install 2 "installed it needs no tree")
  zero_test_program(memory 1 "bytes as planned")
  zero_test_part(memory_of_families memory 2 "bytes as planned" families)
  zero_test_program(allocations 2 "no step allocates" $<TARGET_FILE:count_malloc>
                    $<TARGET_FILE:objectives>)
  zero_test_program(traffic 2 "what the formula says" $<TARGET_FILE:count_sends>)
endif()

# The longest begin first, so that none of them is left to run alone.
set_tests_properties(runs.readme runs.calibrate runs.offload runs.resume runs.host_changes
                     runs.changes runs.optimizers runs.folder runs.nodes runs.suspended
                     PROPERTIES COST 100)
if(NOT ZERO_SANITIZE)
  set_tests_properties(runs.allocations runs.kill_save runs.memory runs.memory_of_families
                       runs.overtaken_saves runs.room_of_saves runs.save_faults runs.slow_disk
                       runs.stopped_rank runs.traffic
                       PROPERTIES COST 100)
endif()
if(TARGET runs_test)
  set_tests_properties(plan/verify.np1 runs/equivalence.np1 runs/home_bits.np1
                       runs/activation_bits.np1 PROPERTIES COST 100 PROCESSORS 2)
endif()

# The program with another family of models.
add_executable(tower families/tower.cpp families/letter_pairs.cpp)
target_include_directories(tower PRIVATE ${PROJECT_SOURCE_DIR})
target_link_libraries(tower PRIVATE zero_commands)
zero_test_program(another_family 2 "another family goes all ways" $<TARGET_FILE:tower>)
zero_test_program(pairs 2 "pairs go all ways" $<TARGET_FILE:tower>)

# The program with another alteration.
add_executable(adapted families/adapted.cpp support/adapters.cpp)
target_include_directories(adapted PRIVATE ${PROJECT_SOURCE_DIR})
target_link_libraries(adapted PRIVATE zero_commands)
zero_test_program(adapters 2 "adapters go all ways" $<TARGET_FILE:adapted>)

# The program with other objectives.
add_executable(objectives objectives/main.cpp objectives/moods.cpp objectives/mood_data.cpp
                          objectives/tones.cpp objectives/tone_data.cpp)
target_include_directories(objectives PRIVATE ${PROJECT_SOURCE_DIR})
target_link_libraries(objectives PRIVATE zero_commands)
zero_test_program(another_objective 2 "another objective goes all ways" $<TARGET_FILE:objectives>)
zero_test_program(scored_objective 2 "scores go all ways" $<TARGET_FILE:objectives>)

# The program with bits that flip, whose kernels stand in front of others by their symbols.
add_executable(flipping audits/flips.cpp ${PROJECT_SOURCE_DIR}/src/main.cpp)
target_include_directories(flipping PRIVATE ${PROJECT_SOURCE_DIR})
target_link_libraries(flipping PRIVATE zero_commands)
set(in_kernels _ZN4zero7kernels)
set(digest ${in_kernels}6digestIjEEvRNS_6StreamEPKNS0_10StepInputsElPKT_lPl)
set(squares ${in_kernels}14sum_of_squaresIffEEvRNS_6StreamElPKT0_bPNS0_8StepSumsE)
set(update ${in_kernels}6updateIffEEvRNS_6StreamERKNS0_13OptimizerRuleESt4spanIKNS0_16Optimizer)
string(APPEND update SegmentELm18446744073709551615EEPKNS0_9StepStateERKNS0_15OptimizerArrays
                     IT_T0_EE)
set(embedding ${in_kernels}9embeddingIfEEvRNS_6StreamERKNS0_16EmbeddingExtentsEPKiPKT_SB_PS9_)
foreach(kernel digest squares update embedding)
  string(TOUPPER ${kernel} name)
  target_compile_definitions(flipping PRIVATE ZERO_${name}="${${kernel}}")
  target_link_options(flipping PRIVATE -Wl,--wrap=${${kernel}})
endforeach()
zero_test_program(audit 2 "every flipped bit is named" $<TARGET_FILE:flipping>)
