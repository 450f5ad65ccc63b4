# cmake --install: a tree that can be moved, with libperfuse, the command, headers, find_package and
# pkg-config files, the shipped model, and oneDNN's library where tools/setup fetched it.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/perfuse)
set(private_libdir ${CMAKE_INSTALL_LIBDIR}/perfuse)  # not lib/: a libdnnl there would be everybody's

file(RELATIVE_PATH bin_to_lib /${CMAKE_INSTALL_BINDIR} /${CMAKE_INSTALL_LIBDIR})
set_target_properties(perfuse PROPERTIES INSTALL_RPATH "$ORIGIN/perfuse")
install(TARGETS perfuse EXPORT perfuseTargets)
install(EXPORT perfuseTargets NAMESPACE perfuse:: DESTINATION ${package_dir})

if(PERFUSE_BUILD_APPS)
  set_target_properties(perfuse_cli PROPERTIES INSTALL_RPATH "$ORIGIN/${bin_to_lib}")
  install(TARGETS perfuse_cli)
endif()

get_target_property(dnnl_library DNNL::dnnl IMPORTED_LOCATION_RELEASE)
if(dnnl_library MATCHES "^${PROJECT_SOURCE_DIR}/build/deps/")
  get_target_property(dnnl_soname DNNL::dnnl IMPORTED_SONAME_RELEASE)
  install(PROGRAMS ${dnnl_library} DESTINATION ${private_libdir} RENAME ${dnnl_soname})
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/build/deps/onednn/share/ OPTIONAL
          DESTINATION ${CMAKE_INSTALL_DOCDIR}/onednn)
endif()

# The public headers are perfuse/perfuse.h and what it includes.
set(public_headers perfuse/perfuse.h)
set(to_read ${public_headers})
while(to_read)
  list(POP_FRONT to_read header)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${header})
  file(STRINGS ${PROJECT_SOURCE_DIR}/${header} includes REGEX "^#include \"perfuse/")
  foreach(include IN LISTS includes)
    string(REGEX REPLACE "^#include \"([^\"]*)\".*" "\\1" include ${include})
    if(NOT include IN_LIST public_headers)
      list(APPEND public_headers ${include})
      list(APPEND to_read ${include})
    endif()
  endforeach()
endwhile()
foreach(header IN LISTS public_headers)
  cmake_path(GET header PARENT_PATH folder)
  install(FILES ${PROJECT_SOURCE_DIR}/${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/${folder})
endforeach()

configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/perfuseConfig.cmake.in
  ${PROJECT_BINARY_DIR}/perfuseConfig.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/perfuseConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/perfuseConfig.cmake ${PROJECT_BINARY_DIR}/perfuseConfigVersion.cmake
        DESTINATION ${package_dir})

file(RELATIVE_PATH pc_to_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(${CMAKE_CURRENT_LIST_DIR}/perfuse.pc.in ${PROJECT_BINARY_DIR}/perfuse.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/perfuse.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

install(DIRECTORY ${PROJECT_SOURCE_DIR}/models/emoji-pixart DESTINATION ${CMAKE_INSTALL_DATADIR}/perfuse/models)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/NOTICE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs/man/ OPTIONAL DESTINATION ${CMAKE_INSTALL_MANDIR}/man1
        FILES_MATCHING PATTERN "*.1")
set(completions ${PROJECT_SOURCE_DIR}/apps/cli/completions)
install(FILES ${completions}/perfuse.bash OPTIONAL
        DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME perfuse)
install(FILES ${completions}/_perfuse OPTIONAL DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
install(FILES ${completions}/perfuse.fish OPTIONAL DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
