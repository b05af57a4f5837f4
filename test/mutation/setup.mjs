import fc from 'fast-check';

// Property tests are the same in every run, and stop at the first counterexample.
fc.configureGlobal({ seed: 1, endOnFailure: true });
