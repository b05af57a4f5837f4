import { expect, test } from 'vitest';
import { parseSource } from '../source-file.ts';
import { findEagerImports } from './on-demand.ts';

const judge = (path: string, text: string) => findEagerImports([parseSource({ path, text })]);
const file = 'packages/server/src/app/serve.ts';

test('default: code for several machines is imported on demand, or as a type', () => {
  expect(judge(file, "const a = await import('./remote/open-remote.ts');")).toEqual([]);
  expect(judge(file, "import type { A } from '../object-store/object-store.ts';")).toEqual([]);
  const inside = 'packages/server/src/app/remote/open-remote.ts';
  expect(judge(inside, "import { a } from '../../cluster/replica.ts';")).toEqual([]);
});

test('error: a static import of code for several machines is found', () => {
  expect(judge(file, "import { a } from './remote/open-remote.ts';")).toHaveLength(1);
  expect(judge(file, "import { type A } from '../cluster/feed.ts';")).toHaveLength(1);
  expect(judge(file, "import { connect } from '@nats-io/transport-node';")).toHaveLength(1);
  expect(judge(file, "import { AwsV4Signer } from 'aws4fetch';")).toHaveLength(1);
});
