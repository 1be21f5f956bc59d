import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { tone } from '../../../fixtures/audio/tones.js'
import { openAudioSocketBot } from '../../../fixtures/bots/audiosocket-bot.js'
import { openByoService } from '../../../fixtures/bots/byo-service.js'
import { call } from '../../../fixtures/service/caller.js'
import { type CliTest, runCli, temporaryFolder } from '../../../fixtures/service/cli.js'
import { makeAuthority } from '../../../fixtures/sip/certificates.js'
import { projectRoot } from '../../../media/base/project-root.js'

/*
 * The bots of examples/ as a customer starts them, in calls of the whole service, and bot-check.
 */

const service = await openByoService(t)

/** Nothing listens on this port (tcpmux, RFC 1078). */
const CLOSED_PORT = 1

/** Returns a Python that has the package. Debian's own may not be the first on the path. */
function python(): string | null {
  for (const program of ['python3', '/usr/bin/python3']) {
    try {
      execFileSync(program, ['-c', 'import websockets'], { stdio: 'ignore' })
      return program
    } catch {
      // This Python is missing or lacks the package. Try the next one.
    }
  }
  return null
}

const PYTHON = python()

const BOTS = [
  {
    name: 'TypeScript',
    command: [process.execPath, fileURLToPath(new URL('../../../examples/bot.js', import.meta.url))],
  },
  { name: 'Python', command: [PYTHON ?? 'python3', join(projectRoot, 'examples', 'bot.py')] },
]

async function startBot(t: CliTest, command: readonly string[], mode: string): Promise<string> {
  const [program = '', ...args] = command
  const child = spawn(program, [...args, mode], {
    env: { ...process.env, PORT: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.teardown(async () => {
    const exited = child.exitCode === null ? once(child, 'exit') : null
    child.kill('SIGINT')
    await exited
  })
  const [line] = await once(child.stdout, 'data')
  child.stdout.resume()
  const url = /ws:\S+/.exec(String(line))?.[0]
  if (url === undefined) throw new Error(`the bot says no address: ${line}`)
  return url
}

for (const { name, command } of BOTS) {
  const skip = name === 'Python' && PYTHON === null ? 'python3-websockets is not installed' : false
  t.test(`${name}: echo`, { skip, timeout: 150_000 }, async (t) => {
    const url = await startBot(t, command, 'echo')
    const { e164 } = await service.routed({ type: 'static', format: 'mulaw', sampleRate: 8000, url })
    const caller = await call(t, service, { to: e164, rtp: { codec: 'PCMU', background: tone(440, 1000) } })
    await caller.answered()
    await caller.until('an echo', () => caller.rtp.loud().length >= 50)
    caller.rtp.press('#')
    await caller.dialog.ended()
    t.match(await service.ended(await caller.callId()), { endedReason: 'agent_hangup' })
  })

  t.test(`${name}: barge-in`, { skip, timeout: 150_000 }, async (t) => {
    const url = await startBot(t, command, 'barge-in')
    const { e164 } = await service.routed({ type: 'static', format: 'mulaw', sampleRate: 8000, url })
    const caller = await call(t, service, { to: e164, rtp: { codec: 'PCMU' } })
    await caller.answered()
    await caller.until('the hum', () => caller.rtp.loud().length >= 25)
    const before = caller.rtp.loud().length
    await caller.rtp.say(tone(700, 300)).done
    const silence = () => caller.rtp.audio().slice(-5)
    await caller.until('it stops or begins again', () => silence().length === 5)
    const callId = await caller.callId()
    await caller.until('the hum again', () => caller.rtp.loud().length >= before + 50)
    await caller.hangUp()
    await service.ended(callId)
    const [stats] = service.of(callId, 'bot_stats')
    t.ok((stats?.stats.marks ?? 0) >= 2, 'the first hum was cleared, a second one began')
  })
}

t.test('bot-check', { timeout: 150_000 }, async (t) => {
  const folder = await temporaryFolder(t)
  const [typescript] = BOTS
  const url = await startBot(t, typescript?.command ?? [], 'echo')
  const good = runCli(t, folder, ['bot-check', url, '--format', 'mulaw', '--private'])
  const strange = runCli(t, folder, ['bot-check', url, '--type', 'vonage', '--private'])
  const closed = runCli(t, folder, ['bot-check', `ws://127.0.0.1:${CLOSED_PORT}/`, '--private'])
  const strict = runCli(t, folder, ['bot-check', url])
  const wrong = runCli(t, folder, ['bot-check', url, '--type', 'twilio', '--format', 'linear16'])
  t.equal(await wrong.exit(), 2)
  t.match(wrong.stderr, /bots of type twilio support mulaw 8000/)
  t.equal(await strict.exit(), 1)
  t.match(strict.stdout, /FAIL {2}cannot be reached: the address is not wss/)
  t.equal(await closed.exit(), 1)
  t.match(closed.stdout, /FAIL {2}cannot be reached/)
  t.equal(await good.exit(), 0)
  t.match(good.stdout, /connected in .*\n.*\d+ play.*\n.*sent .* of audio.*\n.*The bot passed the check\./s)
  t.equal(await strange.exit(), 1)
  t.match(strange.stdout, /FAIL {2}sent no audio/)
})

t.test('bot-check of an AudioSocket, over TLS and plain', { timeout: 150_000 }, async (t) => {
  const folder = await temporaryFolder(t)
  const authority = makeAuthority(t)
  const keys: string[] = []
  const bot = await openAudioSocketBot(t, {
    tls: authority.issue('IP:127.0.0.1'),
    onFrame: (there, { kind, payload }) => {
      if (kind === 0x03) keys.push(payload.toString())
      if (kind === 0x12) there.send(kind, payload)
    },
  })
  const silent = await openAudioSocketBot(t)
  const type = ['--type', 'audiosocket', '--private']
  const trusting = { NODE_EXTRA_CA_CERTS: authority.certificateFile }
  const good = runCli(t, folder, ['bot-check', bot.url, ...type, '--rate', '16000'], trusting)
  const doubting = runCli(t, folder, ['bot-check', bot.url, ...type])
  const mute = runCli(t, folder, ['bot-check', silent.url, ...type])
  const strict = runCli(t, folder, ['bot-check', silent.url, '--type', 'audiosocket'])
  const secret = runCli(t, folder, ['bot-check', silent.url, ...type, '--secret', 'x'])
  t.equal(await secret.exit(), 2)
  t.match(secret.stderr, /bots of type audiosocket do not support --(secret|param)/)
  t.equal(await strict.exit(), 1)
  t.match(strict.stdout, /FAIL {2}cannot be reached: the address is not tls/)
  t.equal(await doubting.exit(), 1)
  t.match(doubting.stdout, /FAIL {2}cannot be reached: no connection \(/)
  t.equal(await good.exit(), 0)
  t.match(good.stdout, /\d+ play\n.*sent .* of audio.*The bot passed the check\./s)
  t.strictSame(keys, ['5'])
  t.match((await bot.call()).frames.at(-1), { kind: 0 }, 'and it is told that the call is over')
  t.equal(await mute.exit(), 1)
  t.match(mute.stdout, /FAIL {2}sent no audio/)
})
