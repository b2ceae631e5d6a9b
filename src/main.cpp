#include "server/server.h"

int main(int argc, char** argv) { return server::run(argc, argv); }
