import t from 'tap'
import { loudnessVad } from '../../fixtures/audio/loudness-vad.js'
import { settle } from '../../fixtures/host/settle.js'
import { FRAME_MS } from '../base/frame.js'
import type { PersonaSpec } from './agent-spec.js'
import { Persona } from './persona.js'

const RATE = 8000
const FRAME = 160

/** Drives a persona frame by frame. The agent speaks in the given intervals. */
class Rig {
  readonly persona: Persona
  readonly heard: number[] = []
  readonly acts: string[] = []
  readonly agent: { fromMs: number; untilMs: number }[] = []
  nowMs = 0

  constructor(steps: PersonaSpec['steps'], loopFrom: number | null = null) {
    const clip = (name: string) => ({
      clip: name,
      text: name,
      language: 'en-IN',
      words: [],
      onsetMs: 0,
      offsetMs: 0,
    })
    this.persona = new Persona({
      id: 'p',
      rate: RATE,
      vad: loudnessVad,
      spec: { name: 'x', script: { utterances: [clip('a'), clip('b')] }, steps, loopFrom },
      loadClip: async (name) => {
        if (name === 'missing') throw new Error('no such clip')
        return new Int16Array((RATE * (name === 'a' ? 400 : 200)) / 1000).fill(name === 'a' ? 11 : 22)
      },
      press: (digits) => {
        this.acts.push(`${this.nowMs} press ${digits.join('')}`)
      },
      hangUp: () => {
        this.acts.push(`${this.nowMs} hang up`)
      },
      stopMedia: () => {
        this.acts.push(`${this.nowMs} stop media`)
      },
    })
  }

  run(ms: number): void {
    for (const until = this.nowMs + ms; this.nowMs < until; this.nowMs += FRAME_MS) {
      const at = (this.nowMs / FRAME_MS) * FRAME
      const pcm = new Int16Array(FRAME)
      if (this.persona.pull(pcm, at)) this.heard.push(this.nowMs)
      const loud = this.agent.some(({ fromMs, untilMs }) => this.nowMs >= fromMs && this.nowMs < untilMs)
      this.persona.push({ pcm: new Int16Array(FRAME).fill(loud ? 3000 : 0), rate: RATE, at })
    }
  }

  /** Session times (ms) at which the persona began to speak. */
  get starts(): number[] {
    return this.heard.filter((at, index) => at - (this.heard[index - 1] ?? -1000) > FRAME_MS)
  }
}

t.test('the persona answers after the agent falls silent, then sends DTMF and hangs up', async (t) => {
  const rig = new Rig([
    { cue: { kind: 'agent_silent', ms: 600 }, act: { kind: 'say', utterance: 0 } },
    { cue: { kind: 'after', ms: 100 }, act: { kind: 'press', digits: '12#' } },
    { cue: { kind: 'agent_silent', ms: 400 }, act: { kind: 'hang_up' } },
  ])
  await rig.persona.prepare()
  rig.persona.start()
  rig.agent.push({ fromMs: 200, untilMs: 1000 }, { fromMs: 1300, untilMs: 2000 })
  rig.run(3000)
  t.same(rig.starts, [2600], 'a breath between two sentences is no end')
  rig.agent.push({ fromMs: 4000, untilMs: 5000 })
  rig.run(4000)
  t.equal(rig.acts.length, 2)
  t.equal(rig.acts[0], '3100 press 12#')
  t.ok(Math.abs(Number(rig.acts[1]?.split(' ')[0]) - 5400) <= FRAME_MS)
  rig.persona.close('hangup')
})

t.test('the persona interrupts each utterance of the agent once', async (t) => {
  const rig = new Rig([{ cue: { kind: 'agent_speaking', ms: 700 }, act: { kind: 'say', utterance: 1 } }], 0)
  await rig.persona.prepare()
  rig.persona.start()
  rig.agent.push({ fromMs: 500, untilMs: 3500 }, { fromMs: 5000, untilMs: 6000 })
  rig.run(8000)
  t.same(rig.starts, [1200, 5700])
  rig.persona.close('hangup')
})

t.test('speech of the agent during a clip does not count as its reply', async (t) => {
  const rig = new Rig([
    { cue: { kind: 'agent_speaking', ms: 300 }, act: { kind: 'say', utterance: 0 } },
    { cue: { kind: 'agent_silent', ms: 300 }, act: { kind: 'say', utterance: 1 } },
  ])
  await rig.persona.prepare()
  rig.persona.start()
  // Stops for the interruption and answers a second later.
  rig.agent.push({ fromMs: 0, untilMs: 380 }, { fromMs: 1800, untilMs: 2400 })
  rig.run(4000)
  t.equal(rig.starts.length, 2)
  t.ok((rig.starts[1] ?? 0) >= 2700)
  rig.persona.close('hangup')
})

t.test('the persona stops its media and hangs up when clips are missing', async (t) => {
  const rig = new Rig([{ cue: { kind: 'after', ms: 500 }, act: { kind: 'stop_media' } }])
  await rig.persona.prepare()
  rig.persona.start()
  rig.run(1000)
  t.same(rig.acts, ['500 stop media'])
  rig.persona.close('hangup')
  rig.run(200)
  t.same(rig.heard, [])

  let hungUp = 0
  const persona = new Persona({
    id: 'p',
    rate: RATE,
    vad: loudnessVad,
    spec: {
      name: 'x',
      script: {
        utterances: [{ clip: 'missing', text: '', language: 'en-IN', words: [], onsetMs: 0, offsetMs: 0 }],
      },
      steps: [],
      loopFrom: null,
    },
    loadClip: () => Promise.reject(new Error('no such clip')),
    press() {},
    hangUp: () => {
      hungUp++
    },
    stopMedia() {},
  })
  persona.start()
  await settle()
  t.equal(hungUp, 1)
  persona.close('hangup')
})
