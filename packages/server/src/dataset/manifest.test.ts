import { beforeEach, expect, test } from 'vitest';
import { SimFs } from '../storage/testing/sim-fs.ts';
import { DatasetManifest } from './dataset-manifest.ts';
import {
  dataFormatVersion,
  encodeManifest,
  type Manifest,
  manifestName,
  readManifest,
  upgradableVersion,
  writeManifest,
} from './manifest.ts';

const manifest: Manifest = {
  name: 'ledger',
  aliases: ['one'],
  genesisHash: null,
  votes: 'drop',
  metaOptional: true,
  allowMissing: ['rewards'],
};
const damaged = (fault: string) => ({ code: 'dataset-manifest-damaged', detail: { fault } });

let fs: SimFs;
beforeEach(async () => {
  fs = new SimFs();
  await fs.makeFolder('data');
});

async function store(text: string): Promise<void> {
  const file = await fs.openFile(`data/${manifestName}`, 'create');
  await file.write(0, [new TextEncoder().encode(text)]);
  await file.close();
}

test('default: a manifest that was written is read again, and ends with a line feed', async () => {
  await writeManifest(fs, 'data', manifest);
  expect(await readManifest(fs, 'data')).toEqual(manifest);
  expect(encodeManifest(manifest)).toContain(`"formatVersion": ${dataFormatVersion}`);
});

test('error: dataset-manifest-damaged for a missing file, other content, or a wrong checksum', async () => {
  await expect(readManifest(fs, 'data')).rejects.toMatchObject({
    ...damaged('the file is missing'),
    cause: { code: 'storage-missing' },
  });
  const notObject = damaged('the content is not a JSON object');
  for (const text of ['', '3', '{']) {
    await store(text);
    await expect(readManifest(fs, 'data')).rejects.toMatchObject(notObject);
    await fs.remove(`data/${manifestName}`);
  }
  await store('{"name":"without a version"}');
  await expect(readManifest(fs, 'data')).rejects.toMatchObject(
    damaged('the checksum does not match'),
  );
  await fs.remove(`data/${manifestName}`);
  await store(encodeManifest(manifest).replace('one', 'two'));
  await expect(readManifest(fs, 'data')).rejects.toMatchObject(
    damaged('the checksum does not match'),
  );
});

test('error: dataset-upgrade-needed and dataset-version-unknown come before the checksum', async () => {
  const ofVersion = (formatVersion: number) =>
    encodeManifest(manifest).replace(
      `"formatVersion": ${dataFormatVersion}`,
      `"formatVersion": ${formatVersion}`,
    );
  const known = dataFormatVersion;
  await store(ofVersion(upgradableVersion));
  await expect(readManifest(fs, 'data')).rejects.toMatchObject({
    code: 'dataset-upgrade-needed',
    detail: { formatVersion: upgradableVersion, known },
  });
  await expect(readManifest(fs, 'data', [upgradableVersion])).rejects.toMatchObject(
    damaged('the checksum does not match'),
  );
  await fs.remove(`data/${manifestName}`);
  await store(ofVersion(99));
  await expect(readManifest(fs, 'data')).rejects.toMatchObject({
    code: 'dataset-version-unknown',
    detail: { formatVersion: 99, known },
  });
});

test('behavior: an open manifest describes the dataset and keeps its changes', async () => {
  await writeManifest(fs, 'data', { ...manifest, from: 7 });
  const open = await DatasetManifest.open('data', fs);
  expect(open.describe(true)).toEqual({
    name: 'ledger',
    aliases: ['one'],
    realTime: true,
    votes: 'drop',
    allowMissing: ['rewards', 'meta'],
    genesisHash: null,
    from: 7,
  });
  await open.update({ aliases: ['two'] });
  await open.adoptGenesis('genesis');
  await open.adoptGenesis('genesis');
  const again = await DatasetManifest.open('data', fs);
  expect(again.describe(false)).toMatchObject({ aliases: ['two'], genesisHash: 'genesis' });
  await expect(open.adoptGenesis('other')).rejects.toMatchObject({
    code: 'dataset-genesis-differs',
    detail: { genesisHash: 'other', known: 'genesis' },
  });
});

test('behavior: kinds may be missing only as the manifest says', async () => {
  await writeManifest(fs, 'data', { ...manifest, metaOptional: false, allowMissing: [] });
  expect((await DatasetManifest.open('data', fs)).describe(false).allowMissing).toEqual([]);
});
