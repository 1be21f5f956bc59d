import { once } from 'node:events'
import { readdir } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { levelDbfs, tone, usualToneLevel } from '../../../fixtures/audio/tones.js'
import { readWav } from '../../../fixtures/audio/wav.js'
import { assertNothingLeft } from '../../../fixtures/host/leaks.js'
import { type Caller, type CallerTest, call } from '../../../fixtures/service/caller.js'
import {
  runCli,
  START_ENV,
  type StartedService,
  startService,
  temporaryFolder,
} from '../../../fixtures/service/cli.js'
import type { Json } from '../../../fixtures/service/service.js'

/*
 * Shutdown and crash: the service in its own process, with a call in progress.
 */

assertNothingLeft(t)
t.jobs = 3

/** Options of a test that runs in parallel; each test needs its own object. */
const beside = () => ({ buffered: true, timeout: 200_000 })

/** A call in which the caller hears the agent. */
async function answered(t: CallerTest, service: StartedService, background?: Int16Array): Promise<Caller> {
  const caller = await call(t, service, background === undefined ? {} : { rtp: { background } })
  await caller.answered()
  await caller.until('media', () => caller.rtp.received.length > 10)
  return caller
}

t.test('SIGTERM: no new calls, the live call continues to its end, then exit 0', beside(), async (t) => {
  const folder = await temporaryFolder(t)
  const service = await startService(t, folder, { env: { PARLEY_DRAIN_SECONDS: '40' } })
  const caller = await answered(t, service)
  const callId = await caller.callId()
  service.cli.process.kill('SIGTERM')
  t.match(await service.cli.logged('service.draining'), {
    reason: 'SIGTERM',
    live: 1,
    seconds: 40,
  })

  const late = await call(t, service)
  t.equal(await late.dialog.final(), 503, 'an INVITE is refused')
  const [number] = (await service.send('GET', '/v1/numbers')).body.data as Json[]
  const placed = await service.send('POST', '/v1/calls', { to: '+919000000055', numberId: number?.id })
  t.match(placed, { status: 503, body: { error: { message: /shutting down/ } } })
  t.match((await service.send('GET', '/v1/calls?limit=10')).body, { meta: { pagination: { total: 1 } } })

  const before = caller.rtp.received.length
  await caller.until('a second more of media', () => caller.rtp.received.length > before + 50)
  t.equal(caller.dialog.state, 'answered')
  t.match(await service.api('GET', `/v1/calls/${callId}`), { status: 'in_progress' })
  await caller.hangUp()
  t.equal(await service.cli.exit(), 0)
  await service.cli.logged('service.stopped').catch(() => t.fail('it does not say that it stopped'))

  const again = await startService(t, folder, { key: service.key })
  t.match(await again.api('GET', `/v1/calls/${callId}`), {
    status: 'ended',
    disposition: 'answered',
    endedReason: 'caller_hangup',
    hasRecording: true,
  })
  const next = await answered(t, again)
  await next.hangUp()
  again.cli.process.kill('SIGTERM')
  t.equal(await again.cli.exit(), 0)
})

t.test('SIGTERM with a limit: the call is ended with a BYE at the limit', beside(), async (t) => {
  const folder = await temporaryFolder(t)
  const service = await startService(t, folder, { env: { PARLEY_DRAIN_SECONDS: '1' } })
  const caller = await answered(t, service)
  service.cli.process.kill('SIGTERM')
  await caller.dialog.ended()
  t.equal(caller.dialog.endedBy, 'remote')
  t.equal(await service.cli.exit(), 0)
})

t.test('a second signal ends the service at once; the caller still gets a BYE', beside(), async (t) => {
  const folder = await temporaryFolder(t)
  const service = await startService(t, folder, { env: { PARLEY_DRAIN_SECONDS: '600' } })
  const caller = await answered(t, service)
  service.cli.process.kill('SIGINT')
  await service.cli.logged('service.draining')
  service.cli.process.kill('SIGINT')
  await caller.dialog.ended()
  t.equal(caller.dialog.endedBy, 'remote')
  t.equal(await service.cli.exit(), 0)
})

t.test('incomplete requests and idle connections do not delay the end', beside(), async (t) => {
  const folder = await temporaryFolder(t)
  const service = await startService(t, folder)
  const sip = service.target('tcp')
  const http = new URL(service.httpUrl)
  const sockets: Socket[] = []
  t.teardown(async () => {
    for (const socket of sockets) socket.destroy()
  })
  for (const [port, text] of [
    [Number(http.port), ''],
    [Number(http.port), 'GET /v1/whoami HTTP/1.1\r\nHost: x\r\nAuthor'],
    [
      Number(http.port),
      `POST /v1/agents HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${service.key}\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"name`,
    ],
    [Number(http.port), '\u0016\u0003\u0001 this is no HTTP'],
    [sip.port, ''],
    [sip.port, 'INVITE sip:x@127.0.0.1 SIP/2.0\r\nVia: SIP/2.0/TCP 127.0.0.1;bra'],
    [sip.port, 'INVITE sip:x@127.0.0.1 SIP/2.0\r\nContent-Length: 5000\r\n\r\nv=0'],
  ] as const) {
    const socket = connect(port, '127.0.0.1')
    socket.on('error', () => {})
    sockets.push(socket)
    await once(socket, 'connect')
    if (text !== '') socket.write(text)
  }
  // The service still works with these connections open.
  const caller = await answered(t, service)
  await caller.hangUp()
  service.cli.process.kill('SIGTERM')
  // Well before half a request (30 s) or an idle connection (65 s) times out.
  t.equal(await service.cli.exit(25_000), 0)
})

t.test(
  'an uncaught error: no new calls, the live call continues to its end, then exit 1',
  beside(),
  async (t) => {
    const folder = await temporaryFolder(t)
    // Throws in a callback of the main thread, as a defect would.
    const defect = "process.on('SIGUSR2', () => { throw new Error('a defect') })"
    const service = await startService(t, folder, {
      env: {
        PARLEY_DRAIN_SECONDS: '40',
        NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(defect)}`,
      },
    })
    const caller = await answered(t, service)
    service.cli.process.kill('SIGUSR2')
    t.match(await service.cli.logged('process.uncaught_error'), { error: /a defect/, stack: /a defect/ })
    t.match(await service.cli.logged('service.draining'), { reason: 'uncaught_error', live: 1 })
    const late = await call(t, service)
    t.equal(await late.dialog.final(), 503, 'an INVITE is refused')
    t.equal((await service.send('GET', '/v1/ready')).status, 503)
    const before = caller.rtp.received.length
    await caller.until('a second more of media', () => caller.rtp.received.length > before + 50)
    await caller.hangUp()
    t.equal(await service.cli.exit(), 1)
    await service.cli.logged('service.stopped')
  },
)

t.test('killed during a call: the next start settles it and keeps its recording', beside(), async (t) => {
  const folder = await temporaryFolder(t)
  const service = await startService(t, folder)
  const caller = await answered(t, service, tone(440, 1_000, 8_000, 0.2))
  const callId = await caller.callId()
  await caller.until('three seconds', () => caller.rtp.received.length > 150)
  const second = runCli(t, folder, ['start'], START_ENV)
  await second.complained(/PARLEY_DATA: another Parley service uses .*data\. Wait until it has stopped/)
  t.equal(await second.exit(), 1, 'a second service on this data does not start')
  t.match(await service.api('GET', `/v1/calls/${callId}`), { status: 'in_progress', endedAt: null })
  service.cli.process.kill('SIGKILL')
  t.equal(await service.cli.exit(), 'SIGKILL')
  t.strictSame(await readdir(join(folder, 'data', 'recordings')), [`${callId}.wav`])

  const again = await startService(t, folder, { key: service.key })
  await again.cli.logged('calls.abandoned_settled')
  const record = await again.api('GET', `/v1/calls/${callId}`)
  t.match(record, {
    status: 'ended',
    disposition: 'unknown',
    endedReason: 'internal',
    error: /stopped while the call was live/,
    hasRecording: true,
  })
  const recording = await again.api('GET', `/v1/calls/${callId}/recording`)
  const bytes = new Uint8Array(await (await fetch(String(recording.url))).arrayBuffer())
  t.equal(bytes.length, recording.bytes)
  const lasted = Date.parse(String(record.endedAt)) - Date.parse(String(record.answeredAt))
  t.ok(
    lasted >= Number(recording.durationSeconds) * 1_000,
    'the call lasted at least as long as its recording',
  )
  const wav = readWav(bytes)
  const [left, right] = wav.channels
  if (left === undefined || right === undefined) throw new Error('not a stereo recording')
  t.ok(left.length / wav.rate > 1.5, `${left.length / wav.rate} s of 3 are there`)
  t.ok(usualToneLevel(left.subarray(4_000, 12_000), 440) > 0.1, 'the caller is on the left')
  t.ok(levelDbfs(right) > -50, 'the agent on the right')
  const view = new DataView(bytes.buffer)
  t.equal(view.getUint32(4, true), bytes.length - 8, 'the header tells the length: any player takes it')
  t.equal(view.getUint32(40, true), bytes.length - 44)

  const events = (await again.send('GET', '/v1/events')).body.data as Json[]
  t.strictSame(
    events
      .filter(({ subjectId }) => subjectId === callId)
      .map(({ type }) => type)
      .sort(),
    ['call.answered', 'call.completed', 'call.initiated'],
  )
  const next = await answered(t, again)
  await next.hangUp()
  again.cli.process.kill('SIGTERM')
  t.equal(await again.cli.exit(), 0)
})
