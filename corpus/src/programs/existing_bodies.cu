// Kernels of ../cuda/nbody.cu: steps of bodies, and an image of the Mandelbrot set in doubles.
#include "program.h"
struct Body { float pos[3], mass, vel[3]; int id; };
void program() {
  for (const char *of : {"O3.sm_86", "O3.sm_110a", "O0.sm_75", "G.sm_75", "G.sm_120", "fast.sm_90", "lineinfo.sm_80", "nvrtc118-G.sm_80", "nvrtc126-lineinfo.sm_70"})
    module_file((std::string("nvcc/nbody.") + of + ".ptx").c_str());
  std::vector<Body> bodies(40);
  for (int i = 0; i < 40; ++i) {
    auto v = random<float>(7, -4, 4);
    bodies[i] = {{v[0], v[1], v[2]}, v[3] + 5, {v[4], v[5], v[6]}, i};
  }
  auto b = buffer(bodies);
  launch("_Z4stepP4Bodyif", {1, 64}, b, 40, 0.01f);
  std::vector<float> after;
  for (auto &p : bodies) {
    double force[3] = {};
    for (auto &q : bodies)
      if (p.id != q.id) {
        double d[3], square = 1e-6;
        for (int k = 0; k < 3; ++k) d[k] = double(q.pos[k]) - p.pos[k], square += d[k] * d[k];
        for (int k = 0; k < 3; ++k) force[k] += d[k] * q.mass / (square * std::sqrt(square));
      }
    float id;
    memcpy(&id, &p.id, 4);
    for (int k = 0; k < 3; ++k) after.push_back(p.pos[k] + (p.vel[k] + force[k] * 0.01) * 0.01);
    after.push_back(p.mass);
    for (int k = 0; k < 3; ++k) after.push_back(p.vel[k] + force[k] * 0.01);
    after.push_back(id);
  }
  expect(b, after, absolute(2e-3));

  const int w = 24, h = 12;
  std::vector<uint8_t> image(w * h);
  for (int i = 0; i < w * h; ++i) {
    double re = -0.7 + (i % w - w / 2) * 0.125, im = 0.01 + (i / w - h / 2) * 0.125, a = 0, c = 0;
    int steps = 0;
    for (; steps < 256 && a * a + c * c < 4; ++steps) { double t = a * a - c * c + re; c = 2 * a * c + im; a = t; }
    image[i] = (steps == 256 ? 0 : steps < 3 ? 2 : 1) * 64 + (steps & 63);
  }
  auto out = zeros<uint8_t>(w * h);
  launch("_Z10mandelbrotPhiiddd", {{3, 3}, {8, 4}}, out, w, h, -0.7, 0.01, 0.125);
  expect(out, image);
}
