// Preloaded into a process: on SIGUSR2 the process fills its heap completely.
process.on('SIGUSR2', () => {
  const held = [];
  for (;;) held.push(new Array(100_000).fill(held.length));
});
