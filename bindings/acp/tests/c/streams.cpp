// C++ in a simulated rank: objects that are made before main and gone after it, standard streams, exceptions, clocks.
#include <acp.h>
#include <chrono>
#include <iostream>
#include <stdexcept>
#include <thread>
#include <vector>

struct Grown {
    std::vector<int> values;
    Grown() : values(1) {}
    ~Grown() { std::cout << "grown to " << values.size() << std::endl; }
};

static Grown grown;

// Whether a clock shows at least the time of a sleep.
template <typename Clock> static bool sleeps() {
    const auto before = Clock::now();
    const std::chrono::milliseconds time(20);
    std::this_thread::sleep_for(time);
    return Clock::now() - before >= time;
}

int main(int argc, char **argv) {
    acp_init(&argc, &argv);
    try {
        throw std::runtime_error("thrown");
    } catch (const std::exception &error) {
        std::cout << error.what() << std::endl;
    }
    if (!sleeps<std::chrono::steady_clock>() || !sleeps<std::chrono::system_clock>()) {
        std::cout << "no time has passed" << std::endl;
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
