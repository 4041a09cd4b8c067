# Called by tools/cuda_check.sh from the root of the tree, with NVCC, FLAGS and SOURCES.
folder := build/cuda-check
objects := $(patsubst %.cpp,$(folder)/%.o,$(SOURCES))
command := $(NVCC) $(FLAGS) -I. -Iinclude -isystem .deps/kokkos-cuda/include

all: $(objects)

# Rewritten only when the flags differ from those of the last call.
$(folder)/flags: force
	@echo '$(command)' | cmp -s - $@ || echo '$(command)' > $@

$(folder)/%.o: %.cpp $(folder)/flags
	@mkdir -p $(@D)
	@echo "nvcc sm_90 $<"
	@$(command) -MMD -MP -MF $(@:.o=.d) -x cu -c $< -o $@

.PHONY: all force
-include $(objects:.o=.d)
