# A release has the two files. A checkout of git makes them, with the Python that Zephyr and ESP-IDF have, too.
if(NOT EXISTS ${CMAKE_CURRENT_LIST_DIR}/src/mapdpm.c)
  execute_process(COMMAND python3 ${CMAKE_CURRENT_LIST_DIR}/../amalgamate.py)
endif()
