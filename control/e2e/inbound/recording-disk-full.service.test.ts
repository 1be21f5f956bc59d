import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { readWav } from '../../../fixtures/audio/wav.js'
import { call } from '../../../fixtures/service/caller.js'
import { temporaryFolder } from '../../../fixtures/service/cli.js'
import { openService } from '../../../fixtures/service/service.js'

/** Two seconds of a recording. */
const SMALL_KB = 64

function mounted(folder: string): boolean {
  mkdirSync(folder, { recursive: true })
  return spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${SMALL_KB}k`, 'tmpfs', folder]).status === 0
}

/** Detaches the file system even while a file is still being closed. */
const unmount = (folder: string) => spawnSync('umount', ['-l', folder])

const mayMount = await (async () => {
  const folder = await temporaryFolder(t)
  if (!mounted(folder)) return false
  return unmount(folder).status === 0
})()

const skip = mayMount ? false : 'this user may not mount a small file system'

t.test('the disk runs full in the middle of a call', { skip, timeout: 150_000 }, async (t) => {
  const service = await openService(t, { virtual: true })
  const folder = join(service.dataFolder, 'recordings')
  t.ok(mounted(folder))
  t.teardown(() => void unmount(folder))
  const caller = await call(t, service)
  await caller.answered()
  const callId = await caller.callId()
  const failures = () => service.of(callId, 'trouble').filter(({ part }) => part === 'recording')
  await service.until('the failure event', () => failures().length > 0)
  t.match(failures()[0], { code: 'storage_failed', message: /ENOSPC/ })
  const heard = caller.rtp.audio().length
  await caller.until('two more seconds of the call', () => caller.rtp.audio().length > heard + 100)
  await caller.hangUp()
  const ended = await service.ended(callId)
  t.match(ended, {
    endedReason: 'caller_hangup',
    hasRecording: true,
    error: 'the recording could not be written to its end',
  })
  t.equal(failures().length, 1, 'reported once')
  const { url, sha256, bytes } = await service.api('GET', `/v1/calls/${callId}/recording`)
  const file = new Uint8Array(await (await fetch(String(url))).arrayBuffer())
  t.equal(file.length, bytes)
  t.ok(file.length <= SMALL_KB * 1024)
  t.equal(createHash('sha256').update(file).digest('hex'), sha256)
  const wav = readWav(file)
  t.equal(wav.channels[0]?.length, 2 * 8000, 'what was written before can be played')
})
