import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import t, { type Test } from 'tap'
import { levelDbfs } from '../../../fixtures/audio/tones.js'
import { readWav, writeWav } from '../../../fixtures/audio/wav.js'
import { openMigratedSqlite } from '../../../fixtures/database/sqlite-image.js'
import { clipFolder } from '../../../fixtures/speech/manifest.js'
import { openFakeOpenAi } from '../../../fixtures/vendors/fake-openai.js'
import { resample } from '../../../media/codec/resampler.js'
import { readSettings } from '../../config/settings.js'
import { talkCommand } from './command.js'

function folderOf(test: Test): string {
  const folder = mkdtempSync(join(tmpdir(), 'parley-talk-'))
  test.teardown(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

async function talk(args: readonly string[], env: Record<string, string> = {}) {
  const settings = readSettings({ PARLEY_DATA: tmpdir(), ...env }, tmpdir())
  const database = await openMigratedSqlite()
  let printed = ''
  try {
    const status = await talkCommand(
      args,
      async (work) => {
        await work(database.db, settings)
        return 0
      },
      {
        input: new PassThrough(),
        write: (text) => {
          printed += text
        },
      },
    )
    return { status, printed }
  } finally {
    await database.close()
  }
}

const clip = (name: string): string => join(clipFolder('sandbox'), `${name}.wav`)
const pcmOf = (name: string): Int16Array => readWav(readFileSync(clip(name))).channels[0] ?? new Int16Array(0)
const HELLO = 'hello'

/** Returns the level of the loudest 100 ms between two moments. */
function loudest(pcm: Int16Array, rate: number, fromMs: number, untilMs: number): number {
  let most = Number.NEGATIVE_INFINITY
  for (let ms = fromMs; ms < untilMs; ms += 100) {
    most = Math.max(most, levelDbfs(pcm.subarray((ms * rate) / 1000, ((ms + 100) * rate) / 1000)))
  }
  return most
}

t.test('recordings are recognised, answered and written faster than real time', async (t) => {
  const out = join(folderOf(t), 'out.wav')
  const said = ['--in', clip(HELLO), '--said', 'Hello?', '--in', clip('tell-me-more')]
  const { status, printed } = await talk([...said, '--said', 'When are you open?', '--out', out])
  t.equal(status, 0, printed)
  const lines = printed.split('\n')
  t.match(lines[0], /^ {3}0\.\d\d {2}you {4}Hello\?$/)
  t.match(lines[1], /asked after \d+ ms, first token \d+ ms, .*first sound \d+ ms, heard \d+ ms$/)
  t.match(lines[2], /agent {2}\S/)
  t.match(lines[3], /you {4}When are you open\?$/)
  t.match(printed, /agent {2}.*open from nine/)
  t.match(printed, /\d+\.\d\d s written to .*out\.wav\n\nturn {3}what {2}ending/)
  t.match(printed, /embedded parley-sandbox: heard \d+\.\d\d s\nembedded parley-rules-1: 2 requests/)

  const { rate, channels } = readWav(readFileSync(out))
  const [caller, agent] = channels
  t.equal(rate, 8000)
  t.equal(channels.length, 2)
  if (caller === undefined || agent === undefined) return
  const at = (line: string | undefined): number => Number(line?.trim().split(' ')[0]) * 1000
  const asked = at(lines[0])
  const answered = at(lines[2])
  t.ok(loudest(caller, rate, asked, asked + 400) > -40, 'the caller is left')
  t.ok(loudest(agent, rate, answered, answered + 400) > -40, 'the agent is right')
  t.ok(loudest(agent, rate, 0, asked) < -80, 'and says nothing before it was asked')
})

t.test('a stereo file of another rate interrupts; the agent alone is written at 16 kHz', async (t) => {
  const folder = folderOf(t)
  const [first, second] = [pcmOf('tell-me-more'), pcmOf('interrupt-question')]
  const pause = new Int16Array(8000 * 2.4)
  const both = Int16Array.from([...first, ...pause, ...second])
  const left = resample(both, 8000, 24_000)
  const path = join(folder, 'in.wav')
  writeFileSync(path, writeWav({ rate: 24_000, channels: [left, new Int16Array(left.length).fill(9000)] }))
  // The embedded recogniser treats one file as one utterance, so its words span both halves.
  const out = join(folder, 'out.wav')
  const args = ['--in', path, '--said', 'Tell me more please. Wait, I have another question for you.']
  const { printed, status } = await talk([...args, '--at-once', '--out', out, '--agent-only'])
  t.equal(status, 0, printed)
  t.match(printed, /agent {2}.* … \(interrupted, was: .+\)/)
  const { rate, channels } = readWav(readFileSync(out))
  t.equal(rate, 16_000)
  t.equal(channels.length, 1)
})

t.test('with an STT vendor: in real time, through its protocol', async (t) => {
  const fake = await openFakeOpenAi()
  t.teardown(() => fake.close())
  const agent = join(folderOf(t), 'agent.json')
  const voice = { sttModel: 'fake-hear', ttsModel: 'fake-say', ttsVoice: 'fake' }
  writeFileSync(agent, JSON.stringify({ name: 'A', llmModel: 'fake-chat', voice }))
  const env = {
    PARLEY_OPENAI_BASE_URL: fake.baseUrl,
    PARLEY_OPENAI_CHAT_MODEL: 'fake-chat',
    PARLEY_OPENAI_TRANSCRIPTION_MODEL: 'fake-hear',
    PARLEY_OPENAI_SPEECH_MODEL: 'fake-say',
    PARLEY_OPENAI_SPEECH_VOICE: 'fake',
  }
  const { status, printed } = await talk(['--agent', agent, '--in', clip(HELLO)], env)
  t.equal(status, 0, printed)
  t.match(printed, /you {4}Namaste\n.*\n.*agent {2}Namaste\. How can I help you\?/)
  t.match(printed, /openai fake-hear: heard/)
  await t.rejects(talk(['--agent', agent, '--in', clip(HELLO), '--said', 'Hello'], env), {
    message: '--said is for parley-sandbox; fake-hear recognises speech itself',
  })
})

t.test('an agent without usable speech recognition says so, and the command prints the reason', async (t) => {
  const { status, printed } = await talk(['--in', clip(HELLO)])
  t.equal(status, 0)
  t.match(printed, /cannot understand recordings: give the words with --said/)
})

t.test('invalid files and options are reported', async (t) => {
  const folder = folderOf(t)
  const file = (name: string, bytes: Uint8Array | string): string => {
    const path = join(folder, name)
    writeFileSync(path, bytes)
    return path
  }
  const good = readFileSync(clip(HELLO))
  const changed = (change: (view: DataView) => void): Uint8Array => {
    const bytes = new Uint8Array(good)
    change(new DataView(bytes.buffer))
    return bytes
  }
  const tone = new Int16Array(800).fill(100)
  const cases: readonly (readonly [path: string, message: RegExp])[] = [
    [join(folder, 'none.wav'), /none\.wav cannot be read: .*no such file/],
    [folder, /cannot be read/],
    [file('text.wav', 'This is no sound at all.'), /text\.wav: not a WAV file/],
    [file('empty.wav', ''), /empty\.wav: it ends before the samples/],
    [file('cut.wav', good.subarray(0, 30)), /cut\.wav: it ends before the samples/],
    [file('silent.wav', good.subarray(0, 44)), /silent\.wav: it contains no audio/],
    [
      file(
        'eight.wav',
        changed((view) => view.setUint16(34, 8, true)),
      ),
      /eight\.wav: WAV is not 16-bit PCM/,
    ],
    [
      file(
        'mulaw.wav',
        changed((view) => view.setUint16(20, 7, true)),
      ),
      /mulaw\.wav: WAV is not 16-bit PCM/,
    ],
    [file('slow.wav', writeWav({ rate: 11_025, channels: [tone] })), /slow\.wav: 11025 Hz; it must be 8000/],
    [file('three.wav', writeWav({ rate: 8000, channels: [tone, tone, tone] })), /three\.wav: 3 channels/],
  ]
  for (const [path, message] of cases) await t.rejects(talk(['--in', path]), { message })

  const hello = clip(HELLO)
  await t.rejects(talk(['--in', hello, '--said', 'a', '--said', 'b']), {
    message: '--said was given 2 times, --in 1 times',
  })
  const quiet = file('quiet.wav', writeWav({ rate: 8000, channels: [new Int16Array(8000)] }))
  await t.rejects(talk(['--in', quiet, '--said', 'a']), { message: /quiet\.wav: no speech was found in it/ })
  await t.rejects(talk(['--out', 'x.wav']), { message: /require --in/ })
  await t.rejects(talk(['--said', 'a']), { message: /require --in/ })
  await t.rejects(talk(['--in', hello, '--agent-only']), { message: /requires --out/ })
  const copy = file('copy.wav', good)
  await t.rejects(talk(['--in', copy, '--out', join(folder, '.', 'copy.wav')]), {
    message: /one of the files/,
  })
  t.same(readFileSync(copy), good, 'and left as it was')
  mkdirSync(join(folder, 'out.wav'))
  await t.rejects(talk(['--in', hello, '--out', join(folder, 'out.wav')]), { message: /cannot be written/ })
})

t.test('--help needs no configuration', async (t) => {
  const { status, printed } = await talk(['--help'])
  t.equal(status, 0)
  t.match(printed, /--in FILE\.wav/)
})
