import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { readXml } from '../../../fixtures/api/xml.js'
import { readWav } from '../../../fixtures/audio/wav.js'
import { call } from '../../../fixtures/service/caller.js'
import { runCli } from '../../../fixtures/service/cli.js'
import { openService } from '../../../fixtures/service/service.js'
import { findClip, readClip } from '../../../fixtures/speech/manifest.js'
import { silentLog } from '../../../media/base/log.js'
import { drawCommand } from '../../cli/draw.js'
import { readSettings } from '../../config/settings.js'
import { openDatabase } from '../../db/database.js'

t.test('parley draw of a real call in which the agent is interrupted', { timeout: 90_000 }, async (t) => {
  const service = await openService(t, { virtual: true })
  const caller = await call(t, service)
  await caller.answered()
  await caller.until('the agent', () => caller.rtp.loud().length > 20)
  const callId = await caller.callId()
  caller.rtp.say(readClip(findClip('interrupt-stop')))
  await service.until('the interruption', () => service.of(callId, 'interrupted').length > 0)
  caller.rtp.press('5')
  await service.until('the key', () => service.of(callId, 'dtmf').length > 0)
  await service.until('what it says next', () => service.of(callId, 'turn').length > 1)
  await caller.hangUp()
  await service.ended(callId)
  const turns = service.of(callId, 'turn').filter(({ turn }) => turn.heardText !== '')
  const cut = turns.filter(({ turn }) => turn.cutAtMs !== undefined)
  const waits = service.of(callId, 'trace').filter(({ trace }) => trace.firstPacketMs !== null)
  const { url } = await service.api('GET', `/v1/calls/${callId}/recording`)
  const wav = readWav(new Uint8Array(await (await fetch(String(url))).arrayBuffer()))
  await service.parley.close()

  const draw = async (...args: string[]) => {
    const cli = runCli(t, service.dataFolder, ['draw', ...args], { PARLEY_DATA: service.dataFolder })
    return { status: await cli.exit(), stdout: cli.stdout, stderr: cli.stderr }
  }
  const out = join(service.dataFolder, 'call.svg')
  const json = join(service.dataFolder, 'peaks.json')
  t.match(await draw(callId, '--out', out, '--peaks', json), { status: 0, stdout: `${json}\n${out}\n` })
  const svg = await readFile(out, 'utf8')
  const elements = readXml(svg)
  const of = (name: string) => elements.filter(({ attributes }) => attributes.class?.split(' ')[0] === name)
  t.strictSame(
    elements.flatMap(({ attributes }) => attributes['data-speaker'] ?? []).sort(),
    turns.map(({ turn }) => turn.speaker).sort(),
  )
  // One more of each in the legend.
  t.equal(of('cut').length, cut.length + 1)
  t.equal(of('digit').length, 1 + 1)
  t.equal(of('replytext').length, waits.length)
  t.ok(of('wave').length >= 2)

  const peaks = JSON.parse(await readFile(json, 'utf8'))
  t.equal(peaks.length, Math.ceil((wav.channels[0]?.length ?? 0) / peaks.samples_per_pixel))
  for (const [channel, pcm] of wav.channels.entries()) {
    const highest = pcm.reduce((most, sample) => Math.max(most, sample), -32_768) >> 8
    const drawn: number[] = peaks.data.filter((_: number, i: number) => i % 4 === channel * 2 + 1)
    t.equal(Math.max(...drawn), highest)
    t.ok(highest > 5, 'somebody spoke')
  }

  // It lies in one of the two folders: the service may have stopped before it was stored.
  for (const folder of ['recordings', 'objects']) {
    await rm(join(service.dataFolder, folder), { recursive: true, force: true })
  }
  t.match(await draw(callId), { status: 0, stdout: `${callId}.svg\n` })
  t.match(await readFile(join(service.dataFolder, `${callId}.svg`), 'utf8'), /no recording/)

  // Failures need no process of their own.
  const settings = readSettings({ PARLEY_DATA: service.dataFolder }, service.dataFolder)
  const database = openDatabase(settings.databaseUrl, silentLog)
  t.teardown(() => database.close())
  const tried = (...args: string[]) =>
    drawCommand(args, async (work) => {
      await work(database.db, settings)
      return 0
    })
  await t.rejects(tried(callId, '--peaks', json), { code: 'storage_failed', message: /no recording/ })
  await t.rejects(tried('call_none'), { code: 'storage_failed', message: /no call call_none/ })
  await t.rejects(tried(callId, '--out', join(service.dataFolder, 'no', 'folder.svg')), {
    code: 'storage_failed',
  })
  await t.rejects(tried('../etc/passwd'), { message: /call id/ })
  await t.rejects(tried(), { message: /CALL_ID/ })
})
