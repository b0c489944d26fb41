// C++ in a simulated rank: objects that are made before main and gone after it, standard streams, exceptions.
#include <acp.h>
#include <iostream>
#include <stdexcept>
#include <vector>

struct Grown {
    std::vector<int> values;
    Grown() : values(1) {}
    ~Grown() { std::cout << "grown to " << values.size() << std::endl; }
};

static Grown grown;

int main(int argc, char **argv) {
    acp_init(&argc, &argv);
    try {
        throw std::runtime_error("thrown");
    } catch (const std::exception &error) {
        std::cout << error.what() << std::endl;
    }
    for (int i = 0; i < acp_rank(); i++) {
        grown.values.push_back(i);
        acp_sync();
    }
    for (int i = acp_rank(); i < acp_procs(); i++) {
        acp_sync();
    }
    acp_finalize();
}
