import t from 'tap'
import type { BotReport } from '../../media/byo/bot-check.js'
import { findingsOf, parsed } from './bot-check.js'

const COMMANDS = {
  play: 1,
  mark: 0,
  clear: 0,
  forget_marks: 0,
  dtmf: 0,
  transfer: 0,
  resume: 0,
  hangup: 0,
  nothing: 0,
  fault: 0,
  transfer_decision: 0,
  give_up: 0,
}
const GOOD: BotReport = {
  unreachable: null,
  connectMs: 20,
  commands: COMMANDS,
  violations: [],
  ignored: [],
  audioMs: 900,
  firstAudioMs: 300,
  replyMs: [400],
  underruns: 0,
  maxQueuedMs: 40,
  hungUpMs: null,
  closedWith: null,
}

t.test('the findings of each kind of bot, and whether it passes', async (t) => {
  const rows: readonly [Partial<BotReport>, 'ok' | 'note' | 'FAIL', RegExp][] = [
    [{}, 'ok', /answered 400 ms after/],
    [{ unreachable: 'the bot answered 401' }, 'FAIL', /cannot be reached: the bot answered 401/],
    [{ connectMs: 1_200 }, 'note', /connected in 1200 ms/],
    [{ closedWith: 1000 }, 'note', /closed the connection with 1000: this hangs up/],
    [{ closedWith: 1006 }, 'FAIL', /1006: this counts as a lost/],
    [{ violations: ['the payload is not base64'] }, 'FAIL', /invalid message: the payload is not base64/],
    [{ ignored: ['unknown event x'] }, 'note', /ignored message: unknown event x/],
    [{ hungUpMs: 2_000 }, 'note', /hung up 2000 ms after the call began/],
    [{ audioMs: 0, firstAudioMs: null, replyMs: [] }, 'FAIL', /sent no audio/],
    [{ firstAudioMs: null, replyMs: [] }, 'note', /sent only silence/],
    [{ replyMs: [] }, 'note', /did not react/],
    [{ replyMs: [2_000] }, 'note', /answered 2000 ms/],
    [{ underruns: 3 }, 'note', /too late 3 times/],
    [{ maxQueuedMs: 4_000 }, 'note', /4000 ms of audio.* clear/],
  ]
  for (const [more, level, text] of rows) {
    const findings = findingsOf({ ...GOOD, ...more })
    t.ok(
      findings.some((finding) => finding.level === level && text.test(finding.text)),
      `${JSON.stringify(more)}: ${JSON.stringify(findings)}`,
    )
    t.equal(
      findings.some((finding) => finding.level === 'FAIL'),
      level === 'FAIL',
    )
  }
})

t.test('the sample rate of an address is the rate of the check', async (t) => {
  const rateOf = (...args: string[]) => parsed(args).spec.sampleRate
  t.equal(rateOf('--type', 'exotel', 'wss://bot.example.com/?sample-rate=16000'), 16_000)
  t.equal(rateOf('--type', 'exotel', 'wss://bot.example.com/'), 8000)
  t.equal(rateOf('--type', 'exotel', '--rate', '24000', 'wss://bot.example.com/?sample-rate=24000'), 24_000)
  t.equal(rateOf('--type', 'jambonz', '--rate', '16000', 'wss://bot.example.com/?sample-rate=24000'), 16_000)
  t.throws(() => rateOf('--type', 'exotel', '--rate', '8000', 'wss://bot.example.com/?sample-rate=16000'), {
    message: '--rate is 8000, the URL names 16000 Hz',
  })
  t.throws(() => rateOf('--type', 'exotel', 'wss://bot.example.com/?sample-rate=11025'), {
    message: /support linear16 8000/,
  })
})
