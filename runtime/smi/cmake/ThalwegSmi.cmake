# SPDX-License-Identifier: Apache-2.0
# SMI programs in a CMake project: one call extracts a program's operations, generates a rank's endpoints, and routes
# the cluster.
#
#   include(ThalwegSmi.cmake)   # thalweg smi cmake prints its path
#   thalweg_smi_target(NAME
#       CLUSTER smi-noctua            # a preset, a cluster file, or a topology file (JSON) whose programs are kernel names
#       KERNELS first.cl second.cl    # one program each
#       [INCLUDES DIR ...] [DEFINES NAME=VALUE ...]
#       [READS 8] [MAX_RANKS 8])      # maximum number of consecutive reads, and of ranks
#
# The target NAME generates, in the folder NAME of the build, for each program P: P.json, its operations; smi_P.json, the
# simulator's endpoints; smi_P.h, a header for the host; smi_P.sv, the top of the hardware; and routes/, the tables of all
# ranks. The interface library NAME_headers has the include path, and depends on them.
include_guard(GLOBAL)
cmake_minimum_required(VERSION 3.16)

find_program(THALWEG thalweg DOC "The command thalweg")

function(thalweg_smi_target name)
  cmake_parse_arguments(PARSE_ARGV 1 of "" "CLUSTER;READS;MAX_RANKS" "KERNELS;INCLUDES;DEFINES")
  if(of_UNPARSED_ARGUMENTS OR NOT of_CLUSTER OR NOT of_KERNELS)
    message(FATAL_ERROR "thalweg_smi_target(NAME CLUSTER C KERNELS FILE ...): ${of_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT THALWEG)
    message(FATAL_ERROR "thalweg_smi_target: the command thalweg is not found; set THALWEG to where it is")
  endif()
  set(folder "${CMAKE_CURRENT_BINARY_DIR}/${name}")
  file(MAKE_DIRECTORY "${folder}")

  set(cluster "${of_CLUSTER}")
  get_filename_component(file "${cluster}" ABSOLUTE)
  set(cluster_file "")
  if(EXISTS "${file}")
    set(cluster "${file}")
    set(cluster_file "${file}")
  endif()
  set(options "")
  foreach(include IN LISTS of_INCLUDES)
    get_filename_component(include "${include}" ABSOLUTE)
    list(APPEND options -I "${include}")
  endforeach()
  foreach(define IN LISTS of_DEFINES)
    list(APPEND options -D "${define}")
  endforeach()
  if(of_READS)
    list(APPEND options --reads "${of_READS}")
  endif()
  if(of_MAX_RANKS)
    list(APPEND options --max-ranks "${of_MAX_RANKS}")
  endif()

  set(made "")
  set(all_metadata "")
  set(metadata_options "")
  foreach(kernel IN LISTS of_KERNELS)
    get_filename_component(source "${kernel}" ABSOLUTE)
    get_filename_component(program "${kernel}" NAME_WE)
    set(metadata "${folder}/${program}.json")
    string(MAKE_C_IDENTIFIER "${program}" plain)
    set(files "${folder}/smi_${plain}.json" "${folder}/smi_${plain}.h" "${folder}/smi_${plain}.sv")
    add_custom_command(
      OUTPUT "${metadata}"
      COMMAND "${THALWEG}" smi extract "${source}" ${options} -o "${metadata}"
      DEPENDS "${source}"
      COMMENT "Finding the operations of ${program}"
      VERBATIM)
    add_custom_command(
      OUTPUT ${files}
      COMMAND "${THALWEG}" smi generate "${metadata}" --cluster "${cluster}" --out "${folder}"
      DEPENDS "${metadata}" ${cluster_file}
      COMMENT "Making what ${program} needs of a rank"
      VERBATIM)
    list(APPEND made ${files})
    list(APPEND all_metadata "${metadata}")
    list(APPEND metadata_options --metadata "${metadata}")
  endforeach()
  add_custom_command(
    OUTPUT "${folder}/routes/proof.json"
    COMMAND "${THALWEG}" route "${cluster}" ${metadata_options} --out "${folder}/routes"
    DEPENDS ${all_metadata} ${cluster_file}
    COMMENT "Routing ${of_CLUSTER}"
    VERBATIM)

  add_custom_target(${name} ALL DEPENDS ${made} "${folder}/routes/proof.json")
  add_library(${name}_headers INTERFACE)
  target_include_directories(${name}_headers INTERFACE "${folder}")
  add_dependencies(${name}_headers ${name})
endfunction()
