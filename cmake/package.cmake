# What `cmake --install` puts where, and the Debian package that `cpack` makes of it. The tree may be moved: the program finds its
# assets from where it lies itself.
include(GNUInstallDirs)
install(TARGETS tilescope RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY ${CMAKE_SOURCE_DIR}/assets/ DESTINATION share/tilescope/assets)
install(FILES ${CMAKE_SOURCE_DIR}/README.md ${CMAKE_SOURCE_DIR}/LICENSE DESTINATION share/doc/tilescope)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME tilescope)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "The TileScope developers")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Shows where every byte of an attention kernel goes, tile by tile")
set(CPACK_PACKAGE_DESCRIPTION "TileScope simulates a GPU's memory hierarchy running attention tile by tile, draws every step of it,
and compares it with the hardware counters of the real CUDA kernels.")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
# Linked libraries are found by dpkg-shlibdeps. EGL and its software driver are opened at run time, so they are named here.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_DEPENDS "libegl1, libgl1, libgl1-mesa-dri")
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "fonts-inter, fonts-jetbrains-mono, fonts-noto-cjk")
# The libraries of films are opened when one is written, too; everything else works without them.
if(VIDEO_FOUND)
  foreach(library avcodec avformat avutil swscale)
    string(REGEX MATCH "^[0-9]+" major "${VIDEO_lib${library}_VERSION}")
    string(APPEND CPACK_DEBIAN_PACKAGE_RECOMMENDS ", lib${library}${major}")
  endforeach()
endif()
include(CPack)
