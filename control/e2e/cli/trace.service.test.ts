import { existsSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { VirtualClock } from '../../../fixtures/host/clock.js'
import { assertNothingLeft } from '../../../fixtures/host/leaks.js'
import { call } from '../../../fixtures/service/caller.js'
import { runCli, temporaryFolder } from '../../../fixtures/service/cli.js'
import { openService } from '../../../fixtures/service/service.js'
import { silentLog } from '../../../media/base/log.js'
import { SipTraceStore } from '../../../signalling/trace/sip-trace.js'
import { ladder } from '../../cli/trace.js'
import { openSipTraceFiles } from '../../observe/sip-trace-files.js'

for (const kind of ['embedded', 'external'] as const) {
  t.test(`parley trace of a call, ${kind} SIP server`, async (t) => {
    const env: Record<string, string> = {}
    assertNothingLeft(t)
    if (kind === 'external') {
      // A separate process, as an operator runs it.
      const args = ['--secret', 'cymru', '--listen', 'udp:127.0.0.1:0', '--control', '127.0.0.1:0']
      const server = runCli(t, await temporaryFolder(t), ['sip-server', ...args])
      const [, port] = await server.printed(/ control 127\.0\.0\.1:(\d+)/)
      env.PARLEY_DRACHTIO_URL = `tcp://:cymru@127.0.0.1:${port}`
    }
    // Longer than it takes to write the trace of a live call.
    const text = 'Welcome to Smile Dental Clinic. '.repeat(15).trim()
    const service = await openService(t, {
      env,
      agent: { callSettings: { inboundOpeningLine: { text } } },
    })
    const caller = await call(t, service)
    await caller.answered()
    const callId = await caller.callId()
    const path = join(service.dataFolder, 'traces', `${callId}.json`)
    // During the call, two seconds behind. It begins with the INVITE, and the answer may come later than that.
    await caller.until('the greeting', () => caller.rtp.loud().length > 10)
    await caller.until('the trace of a live call', () => existsSync(path))
    await caller.hangUp()
    await service.ended(callId)
    await service.parley.close()

    t.equal(statSync(path).mode & 0o777, 0o600)
    const trace = JSON.parse(await readFile(path, 'utf8'))
    t.match(trace, {
      callId,
      sipCallId: caller.dialog.callId,
      messages: [
        { startLine: /^INVITE /, direction: 'in', body: /m=audio/ },
        { direction: 'out', startLine: /^SIP\/2.0 (?:180|200)/ },
      ],
    })
    const starts = trace.messages.map((message: { startLine: string }) =>
      message.startLine.split(' ').slice(0, 2).join(' '),
    )
    // Printed once, however many retransmissions a slow host caused.
    const said = starts.filter((line: string, i: number) => line !== starts[i - 1])
    t.strictSame(said.slice(-4), [
      'SIP/2.0 200',
      `ACK ${/ACK (\S+)/.exec(starts.join(' '))?.[1]}`,
      `BYE ${/BYE (\S+)/.exec(starts.join(' '))?.[1]}`,
      'SIP/2.0 200',
    ])

    const shown = await shell(['trace', callId, '--full'], service.dataFolder)
    t.equal(shown.status, 0)
    t.match(shown.text, /\|-- INVITE sip:\S+.*\[SDP\] -*>\| {2}udp 127\.0\.0\.1:\d+/)
    t.match(shown.text, /\|<- 200 OK \(INVITE\) \[SDP\] -+\|/)
    t.match(shown.text, /m=audio/)
    const json = JSON.parse((await shell(['trace', callId, '--json'], service.dataFolder)).text)
    t.match(json, { callId })
    // The caller hung up during the greeting.
    t.match(json.turns, [{ kind: 'line', ending: 'cut', offsetMs: null, firstPacketMs: Number }])
    t.match(json.usage, { recognition: [{ vendor: 'embedded' }], speech: [{ vendor: 'embedded' }] })
    t.match(shown.text, /^ *turn +what +ending .*\n +\d+ +line +cut /m)
    t.match(shown.text, /^embedded parley-sandbox: heard [\d.]+ s$/m)
    // The rest does not depend on the SIP server.
    if (kind === 'external') return
    t.equal((await shell(['trace', 'call_nobody'], service.dataFolder)).status, 1)
    t.equal((await shell(['trace', '../parley.db'], service.dataFolder)).status, 2)
  })
}

async function shell(args: readonly string[], dataFolder: string) {
  const cli = runCli(t, dataFolder, args, { PARLEY_DATA: dataFolder })
  const status = await cli.exit()
  return { status, text: cli.stdout }
}

t.test('text from peers cannot control the terminal', async (t) => {
  const text = ladder(
    {
      callId: 'c',
      sipCallId: 'x\u001b[2J',
      trunkId: null,
      dropped: 4,
      messages: [
        {
          at: 0,
          direction: 'in',
          transport: 'udp',
          peer: '192.0.2.1:5060',
          startLine: 'INVITE sip:\u001b]0;evil\u0007@y SIP/2.0',
          headers: [['X', '\u009b31m']],
          body: 'a\u0000b',
        },
      ],
    },
    true,
  )
  t.notMatch(text.replaceAll('\n', ''), /\p{Cc}/u)
  t.match(text, /4 more messages were not stored/)
})

t.test('trace files are written once, after a delay, and deleted when they expire', async (t) => {
  const folder = await temporaryFolder(t)
  const clock = new VirtualClock({ wallMs: Date.now() })
  writeFileSync(join(folder, 'old.json'), '{}')
  writeFileSync(join(folder, 'young.json'), '{}')
  utimesSync(join(folder, 'old.json'), Date.now() / 1000, Date.now() / 1000 - 25 * 3600)
  const traces = new SipTraceStore(clock)
  const files = await openSipTraceFiles({ traces, folder, hours: 24, clock, log: silentLog })
  t.notOk(existsSync(join(folder, 'old.json')))
  t.ok(existsSync(join(folder, 'young.json')))
  traces.begin('call_1', 'a', null)
  files.callEnded('call_1')
  files.callEnded('call_unknown')
  clock.advance(1_999)
  t.ok(traces.get('call_1'), 'the answer to the BYE may still come')
  clock.advance(1)
  t.equal(traces.get('call_1'), null)
  traces.begin('call_2', 'b', null)
  await files.close()
  t.ok(existsSync(join(folder, 'call_1.json')))
  t.ok(existsSync(join(folder, 'call_2.json')), 'written at the end of the service')
  t.equal(clock.pending, 0)
})
