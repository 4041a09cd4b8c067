# Called by tools/cuda_check.sh from the root of the tree, with NVCC, FLAGS, CXX, CXX_FLAGS, KOKKOS,
# SOURCES and HOPPER, the sources for sm_90a. As in a build, nvcc gets what
# cmake/nvcc_sources.regex matches; the rest only calls CUDA's libraries and is plain C++, which is
# read, templates and all, and leaves an empty object.
folder := build/cuda-check
objects := $(patsubst %.cpp,$(folder)/%.o,$(SOURCES))
hopper := $(patsubst %.cpp,$(folder)/%.o,$(HOPPER))
target = -arch=sm_90 -c
command = $(NVCC) $(FLAGS) $(target) -I. -Iinclude -isystem $(KOKKOS)/include
plain := $(CXX) $(CXX_FLAGS) -I. -Iinclude
wants_nvcc := cmake/nvcc_sources.regex

all: $(objects) $(hopper)

# As far as PTX: the assembler takes minutes for what is not optimised.
$(hopper): private target = -arch=sm_90a -ptx -DNDEBUG -isystem .deps/cutlass/include

# Rewritten only when the flags differ from those of the last call.
$(folder)/flags: force
	@echo '$(command) $(plain)' | cmp -s - $@ || echo '$(command) $(plain)' > $@

$(folder)/%.o: %.cpp $(folder)/flags $(wants_nvcc)
	@mkdir -p $(@D)
	@if grep -qEf $(wants_nvcc) $<; then \
	  echo "nvcc $(firstword $(target)) $<"; \
	  $(command) -MMD -MP -MF $(@:.o=.d) -x cu $< -o $@; \
	else \
	  echo "c++ $<"; \
	  $(plain) -fsyntax-only -MMD -MP -MF $(@:.o=.d) -MT $@ $< && : > $@; \
	fi

.PHONY: all force
-include $(objects:.o=.d) $(hopper:.o=.d)
