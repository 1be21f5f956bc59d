import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { PutObjectCommand, S3Client } from '@aws-sdk/client-s3'
import t, { type Test } from 'tap'
import type { S3Backend } from '../../fixtures/objects/s3-backend.js'
import { openS3Server } from '../../fixtures/objects/s3-server.js'
import { openS3rver } from '../../fixtures/objects/s3rver.js'
import { openSwift, swiftMissing } from '../../fixtures/objects/swift.js'
import { silentLog } from '../../media/base/log.js'
import { FolderStore } from './folder-store.js'
import type { ObjectStore } from './object-store.js'
import { openObjectStore } from './open-object-store.js'

const MIB = 1024 * 1024
/** Longer than one part of a multipart upload. */
const LARGE = 20 * MIB
const KEY = 'recordings/call_1.wav'

interface Rig {
  readonly store: ObjectStore
  /** Counts the writes that left something behind. */
  unfinished(): Promise<number>
  /** Lets every large write fail in its second part, as a full disk does. */
  readonly fullDisk: ObjectStore
  /** Bytes of live memory that a large stream may need. */
  readonly memory: number
}

async function folderRig(t: Test): Promise<Rig> {
  const root = join(t.testdir({}), 'objects')
  const small = join(t.testdir({}), 'full')
  const unfinished = (folder: string) => {
    const partial = join(folder, '.unfinished')
    return existsSync(partial) ? readdirSync(partial).length : 0
  }
  return {
    store: await openObjectStore({ kind: 'folder', path: root }, silentLog),
    unfinished: async () => unfinished(root) + unfinished(small),
    fullDisk: new FolderStore(small, openOnSmallDisk),
    memory: 2 * MIB,
  }
}

/** Opens a file for which the disk has room for 9 MiB. */
const openOnSmallDisk: typeof open = async (...asked) => {
  const file = await open(...asked)
  const append = file.appendFile.bind(file)
  let room = 9 * MIB
  file.appendFile = async (chunk) => {
    room -= chunk.length
    if (room >= 0) return append(chunk)
    throw Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' })
  }
  return file
}

async function s3Rig(t: Test, backend: S3Backend): Promise<Rig> {
  const server = await openS3Server(backend)
  const full = await openS3Server(backend, 'parley-full')
  full.fault = (request) => (request.includes('partNumber=2') ? 'disk_full' : null)
  const store = await openObjectStore(server.setting, silentLog)
  const fullDisk = await openObjectStore(full.setting, silentLog)
  t.teardown(async () => {
    store.close()
    fullDisk.close()
    await server.close()
    await full.close()
  })
  const unfinished = async () => (await server.uploads()) + (await full.uploads())
  // One part here, one or two in the front of the server, which runs in this process.
  return { store, unfinished, fullDisk, memory: 5 * 8 * MIB }
}

/** Bytes that differ from place to place, made while they are read. */
async function* content(bytes: number, onChunk: (done: number) => void = () => {}) {
  const chunk = Buffer.alloc(65_536)
  for (let done = 0; done < bytes; done += chunk.length) {
    onChunk(done)
    for (let at = 0; at < chunk.length; at += 4096) chunk.writeUInt32LE(done + at, at)
    yield chunk.subarray(0, Math.min(chunk.length, bytes - done))
  }
}

async function sha256Of(chunks: AsyncIterable<Uint8Array>): Promise<string> {
  const hash = createHash('sha256')
  for await (const chunk of chunks) hash.update(chunk)
  return hash.digest('hex')
}

const text = (value: string) => Readable.from([Buffer.from(value)])
const hash = (value: string) => createHash('sha256').update(value).digest('hex')
const keys = async (store: ObjectStore, prefix: string): Promise<string[]> => {
  const found: string[] = []
  for await (const { key } of store.list(prefix)) found.push(key)
  return found
}

async function readText(store: ObjectStore, key: string, range?: { start: number; end: number }) {
  const stream = await store.get(key, range)
  return stream === null ? null : (await buffer(stream)).toString()
}

setFlagsFromString('--expose-gc')
const collectGarbage: () => void = runInNewContext('gc')

/** Tests for every store. */
async function testStore(t: Test, { store, unfinished, fullDisk, memory }: Rig): Promise<void> {
  await t.test('writes, reads, lists and deletes', async (t) => {
    t.same(await store.put(KEY, text('0123456789'), { maxBytes: 10 }), {
      kind: 'stored',
      bytes: 10,
      sha256: hash('0123456789'),
    })
    t.equal(await readText(store, KEY), '0123456789')
    t.match(await store.head(KEY), { key: KEY, bytes: 10 })
    const age = Date.now() - ((await store.head(KEY))?.modifiedAt ?? 0)
    t.ok(Math.abs(age) < 600_000, 'the time of the write, in ms')
    await store.put('recordings/call_0.wav', text('a'), { maxBytes: 1 })
    await store.put('documents/org_1/upl_1', text('b'), { maxBytes: 1 })
    t.same(await keys(store, 'recordings/'), ['recordings/call_0.wav', KEY], 'in the order of the keys')
    t.same(await keys(store, 'recordings/call_1'), [KEY])
    t.same(await keys(store, 'none/'), [])
    await store.put(KEY, text('new'), { maxBytes: 3 })
    t.equal(await readText(store, KEY), 'new', 'a second write replaces the first')
    await store.delete(KEY)
    await store.delete(KEY)
    t.equal(await store.head(KEY), null)
    t.same(await keys(store, 'recordings/'), ['recordings/call_0.wav'])
  })

  await t.test('a missing object is null', async (t) => {
    t.equal(await store.get('recordings/none.wav'), null)
    t.equal(await store.get('recordings/none.wav', { start: 0, end: 1 }), null)
    t.equal(await store.head('recordings/none.wav'), null)
  })

  await t.test('an empty object', async (t) => {
    t.match(await store.put('documents/empty', Readable.from([]), { maxBytes: 1 }), { bytes: 0 })
    t.equal(await readText(store, 'documents/empty'), '')
  })

  await t.test('ranges of bytes', async (t) => {
    await store.put(KEY, text('0123456789'), { maxBytes: 10 })
    t.equal(await readText(store, KEY, { start: 2, end: 4 }), '234')
    t.equal(await readText(store, KEY, { start: 9, end: 9 }), '9')
    t.equal(await readText(store, KEY, { start: 0, end: 1 }), '01')
  })

  await t.test('refuses keys that leave their folder', async (t) => {
    for (const key of ['../x', 'a/../b', 'a//b', '/a/b', 'a', 'a/.b', 'a/b\0', `a/${'b'.repeat(250)}`]) {
      await t.rejects(store.put(key, text('x'), { maxBytes: 1 }), { code: 'internal' }, key)
      await t.rejects(store.get(key), { code: 'internal' }, key)
      await t.rejects(store.delete(key), { code: 'internal' }, key)
    }
  })

  await t.test('refuses what is too large or has another checksum, and keeps the old object', async (t) => {
    await store.put(KEY, text('old'), { maxBytes: 3 })
    t.same(await store.put(KEY, text('four'), { maxBytes: 3 }), { kind: 'too_large' })
    t.same(await store.put(KEY, content(LARGE), { maxBytes: LARGE - 1 }), { kind: 'too_large' })
    const sha256 = hash('other')
    t.same(await store.put(KEY, text('four'), { maxBytes: 9, sha256 }), { kind: 'wrong_checksum' })
    t.same(await store.put(KEY, content(LARGE), { maxBytes: LARGE, sha256 }), { kind: 'wrong_checksum' })
    t.equal(await readText(store, KEY), 'old')
    t.equal(await unfinished(), 0)
  })

  await t.test('a connection cut in the middle of the content leaves nothing', async (t) => {
    for (const cutAt of [0, 65_536, 12 * MIB]) {
      const broken = content(LARGE, (done) => {
        if (done >= cutAt) throw new Error('cut')
      })
      await t.rejects(store.put('recordings/cut.wav', broken, { maxBytes: LARGE }), { message: 'cut' })
    }
    t.equal(await store.head('recordings/cut.wav'), null)
    t.equal(await unfinished(), 0)
  })

  await t.test('a full disk is a clear error and leaves nothing', async (t) => {
    await t.rejects(fullDisk.put(KEY, content(LARGE), { maxBytes: LARGE }), {
      code: 'storage_failed',
      retryable: true,
      message: /full/i,
    })
    t.equal(await fullDisk.head(KEY), null)
    t.equal(await unfinished(), 0)
    t.match(await fullDisk.put(KEY, text('small'), { maxBytes: 5 }), { kind: 'stored' })
  })

  await t.test('of concurrent writers of a key, one wins', async (t) => {
    const writers = Array.from({ length: 8 }, (_, i) => String(i).repeat(100_000))
    await Promise.all(writers.map((value) => store.put(KEY, text(value), { maxBytes: 100_000 })))
    t.ok(writers.includes((await readText(store, KEY)) ?? ''), 'the object of one writer, unmixed')
    t.equal(await unfinished(), 0)
  })

  await t.test('a large object in constant memory', async (t) => {
    const bytes = 2 * LARGE
    const expected = await sha256Of(content(bytes))
    collectGarbage()
    const before = process.memoryUsage().arrayBuffers
    let peak = 0
    const watched = (done: number) => {
      if (done % (8 * MIB) !== 4 * MIB) return
      collectGarbage()
      peak = Math.max(peak, process.memoryUsage().arrayBuffers - before)
    }
    t.match(await store.put(KEY, content(bytes, watched), { maxBytes: bytes, sha256: expected }), { bytes })
    t.ok(peak < memory, `${peak} bytes while writing`)
    const stream = await store.get(KEY)
    t.equal(stream === null ? null : await sha256Of(stream), expected)
    t.equal(await unfinished(), 0)
  })

  await t.test('moves a local file in', async (t) => {
    const path = join(t.testdir({}), 'call.wav')
    writeFileSync(path, 'RIFF')
    t.equal(await store.moveIn(KEY, path, { bytes: 5, sha256: hash('RIFF.') }), false)
    t.ok(existsSync(path), 'a file with other bytes stays')
    t.equal(await store.moveIn(KEY, path, { bytes: 4, sha256: hash('RIFF') }), true)
    t.equal(await readText(store, KEY), 'RIFF')
    t.notOk(existsSync(path))
    await t.rejects(store.moveIn(KEY, path, { bytes: 4, sha256: hash('RIFF') }), { code: 'storage_failed' })
    t.equal(await readText(store, KEY), 'RIFF')
  })
}

t.test('folder', async (t) => testStore(t, await folderRig(t)))

t.test('folder: a file of another file system is copied and checked', async (t) => {
  const shared = '/dev/shm'
  const folder = join(shared, `parley-${process.pid}`)
  mkdirSync(folder, { recursive: true })
  t.teardown(() => rmSync(folder, { recursive: true }))
  const root = t.testdir({})
  const store = new FolderStore(join(root, 'objects'))
  const path = join(folder, 'call.wav')
  writeFileSync(path, 'RIFF')
  t.equal(await store.moveIn(KEY, path, { bytes: 4, sha256: hash('RIFX') }), false)
  t.equal(await store.moveIn(KEY, path, { bytes: 4, sha256: hash('RIFF') }), true)
  t.equal(await readText(store, KEY), 'RIFF')
  t.notOk(existsSync(path))
  writeFileSync(path, 'RIFF')
  const late = new FolderStore(join(root, 'late'), async (opened, ...how) => {
    if (opened === path) rmSync(path)
    return await open(opened, ...how)
  })
  const moved = late.moveIn('recordings/other', path, { bytes: 4, sha256: hash('RIFF') })
  await t.rejects(moved, { code: 'storage_failed' }, 'a file that is gone when it is copied')
  t.equal(await late.head('recordings/other'), null)
})

t.test('folder: what a killed process left is not listed, and is swept', async (t) => {
  const root = join(t.testdir({}), 'objects')
  const store = new FolderStore(root)
  mkdirSync(join(root, '.unfinished'), { recursive: true })
  writeFileSync(join(root, '.unfinished', 'half'), 'ha')
  t.same(await keys(store, ''), [])
  await store.sweepUnfinished(Date.now() - 3_600_000)
  t.same(readdirSync(join(root, '.unfinished')), ['half'], 'one that may still be written stays')
  await store.sweepUnfinished(Date.now() + 3_600_000)
  t.same(readdirSync(join(root, '.unfinished')), [])
})

for (const [maker, open, skip] of [
  ['s3rver', openS3rver, false],
  ['Swift', openSwift, swiftMissing],
] as const) {
  t.test(`s3: ${maker}`, { timeout: 300_000, skip }, async (t) => {
    const backend = await open()
    t.teardown(() => backend.close())
    await t.test('as every store', async (t) => testStore(t, await s3Rig(t, backend)))
    await t.test('a connection cut by the server, a killed upload, a server that is away', (t) =>
      testFaults(t, backend),
    )
    await t.test('wrong credentials are an error that no repetition removes', async (t) => {
      const server = await openS3Server(backend, 'parley-credentials')
      t.teardown(() => server.close())
      const credentials = { ...backend.credentials, secretAccessKey: 'wrong' }
      const store = await openObjectStore({ ...server.setting, credentials }, silentLog)
      t.teardown(() => store.close())
      await t.rejects(store.put(KEY, text('x'), { maxBytes: 1 }), {
        code: 'storage_failed',
        retryable: false,
        message: /SignatureDoesNotMatch/,
      })
    })
    await t.test('a client that adds checksum trailers is refused, so the store sends none', async (t) => {
      const server = await openS3Server(backend, 'parley-trailers')
      t.teardown(() => server.close())
      const { bucket: Bucket, endpoint, region, credentials } = server.setting
      if (endpoint === null || credentials === null) throw new Error('a server on loopback has both')
      const client = new S3Client({ endpoint, region, credentials, forcePathStyle: true, maxAttempts: 1 })
      t.teardown(() => client.destroy())
      const put = new PutObjectCommand({ Bucket, Key: KEY, Body: text('x'), ContentLength: 1 })
      await t.rejects(client.send(put), { name: /^(InvalidRequest|NotImplemented)$/ })
    })
  })
}

async function testFaults(t: Test, backend: S3Backend): Promise<void> {
  const server = await openS3Server(backend, 'parley-faults')
  const store = await openObjectStore(server.setting, silentLog)
  t.teardown(() => store.close())
  let cuts = 0
  server.fault = (request) => (request.includes('partNumber=2') && ++cuts === 1 ? 'cut' : null)
  t.match(await store.put(KEY, content(LARGE), { maxBytes: LARGE }), { kind: 'stored' }, 'sent again')
  t.equal(cuts, 2)
  await store.delete(KEY)

  server.fault = (request) => (request.includes('partNumber=2') ? 'cut' : null)
  await t.rejects(store.put(KEY, content(LARGE), { maxBytes: LARGE }), {
    code: 'storage_failed',
    retryable: true,
  })
  t.equal(await store.head(KEY), null)
  t.equal(await server.uploads(), 0, 'the parts are removed')

  // The process dies in the middle: the parts stay, as the failed abort shows.
  await t.test('a killed upload is swept', async (t) => {
    const dying = await openObjectStore(server.setting, silentLog)
    server.fault = () => null
    const broken = content(LARGE, (done) => {
      if (done < 12 * MIB) return
      dying.close()
      server.refuseAborts = true
      throw new Error('killed')
    })
    await t.rejects(dying.put(KEY, broken, { maxBytes: LARGE }), { message: 'killed' })
    server.refuseAborts = false
    t.equal(await server.uploads(), 1)
    t.equal(await store.head(KEY), null, 'it is not visible')
    await store.sweepUnfinished(Date.now() - 3_600_000)
    t.equal(await server.uploads(), 1, 'one that may still be running stays')
    await store.sweepUnfinished(Date.now() + 3_600_000)
    t.equal(await server.uploads(), 0)
  })

  server.fault = () => 'unavailable'
  await t.rejects(store.put(KEY, text('x'), { maxBytes: 1 }), { code: 'storage_failed', retryable: true })
  await server.close()
  await t.rejects(store.get(KEY), { code: 'storage_failed', retryable: true })
}
