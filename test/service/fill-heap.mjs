// Loaded into a process before its program: at SIGUSR2 the process fills its heap until there is none left.
process.on('SIGUSR2', () => {
  const held = [];
  for (;;) held.push(new Array(100_000).fill(held.length));
});
