import t from 'tap'
import { NO_TOOL_WAIT, stepToolWait, type ToolWait, type ToolWaitInput } from './tool-wait.js'

const POLICY = { toolsFirstMs: 900, toolsLatestMs: 1600, toolsAgainMs: 2000 }

const STATES: Readonly<Record<string, ToolWait>> = {
  idle: NO_TOOL_WAIT,
  audible: { running: false, audioFlowing: true, fillers: 0 },
  running: { running: true, audioFlowing: false, fillers: 0 },
  filler: { running: true, audioFlowing: true, fillers: 1 },
  again: { running: true, audioFlowing: false, fillers: 1 },
}

const INPUTS: Readonly<Record<string, ToolWaitInput>> = {
  run: { type: 'toolsRun', fillerSpoken: false, waitedMs: 300 },
  'run late': { type: 'toolsRun', fillerSpoken: false, waitedMs: 1200 },
  'run too late': { type: 'toolsRun', fillerSpoken: false, waitedMs: 5000 },
  'run with filler': { type: 'toolsRun', fillerSpoken: true, waitedMs: 300 },
  dry: { type: 'audioFlow', flowing: false, resultsGiven: false },
  'dry, results given': { type: 'audioFlow', flowing: false, resultsGiven: true },
  flows: { type: 'audioFlow', flowing: true, resultsGiven: false },
  sentence: { type: 'sentence', afterTools: false },
  'sentence after tools': { type: 'sentence', afterTools: true },
  'filler due': { type: 'fillerDue', resultsGiven: false },
  'filler due, results given': { type: 'fillerDue', resultsGiven: true },
  done: { type: 'toolsDone' },
}

/** State x input: running, audio flowing, fillers, then timer and phrase. `-`: unexpected. */
const TABLE: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  idle: {
    run: 'R..0 900',
    'run late': 'R..0 400',
    'run too late': 'R..0 0',
    'run with filler': 'R.F1',
    dry: '...0',
    'dry, results given': '...0 2000',
    flows: '..F0',
    sentence: '..F0',
    'sentence after tools': '..F0 cancel',
    'filler due': '-',
    'filler due, results given': '..F1 wait',
    done: '...0',
  },
  audible: {
    run: 'R.F0',
    'run late': 'R.F0',
    'run too late': 'R.F0',
    'run with filler': 'R.F1',
    dry: '...0',
    'dry, results given': '...0 2000',
    flows: '..F0',
    sentence: '..F0',
    'sentence after tools': '..F0 cancel',
    'filler due': '-',
    'filler due, results given': '-',
    done: '..F0',
  },
  running: {
    run: 'R..0 900',
    'run late': 'R..0 400',
    'run too late': 'R..0 0',
    'run with filler': 'R.F1',
    dry: 'R..0 2000',
    'dry, results given': 'R..0 2000',
    flows: 'R.F0',
    sentence: 'R.F0',
    'sentence after tools': 'R.F0 cancel',
    'filler due': 'R.F1 wait',
    'filler due, results given': 'R.F1 wait',
    done: '...0',
  },
  filler: {
    run: 'R.F0',
    'run late': 'R.F0',
    'run too late': 'R.F0',
    'run with filler': 'R.F1',
    dry: 'R..1 2000',
    'dry, results given': 'R..1 2000',
    flows: 'R.F1',
    sentence: 'R.F1',
    'sentence after tools': 'R.F1 cancel',
    'filler due': '-',
    'filler due, results given': '-',
    done: '..F1',
  },
  again: {
    run: 'R..0 900',
    'run late': 'R..0 400',
    'run too late': 'R..0 0',
    'run with filler': 'R.F1',
    dry: 'R..1 2000',
    'dry, results given': 'R..1 2000',
    flows: 'R.F1',
    sentence: 'R.F1',
    'sentence after tools': 'R.F1 cancel',
    'filler due': 'R.F2 stillWaiting',
    'filler due, results given': 'R.F2 stillWaiting',
    done: '...1',
  },
}

t.test('every state and every input', async (t) => {
  for (const [stateName, state] of Object.entries(STATES)) {
    for (const [inputName, input] of Object.entries(INPUTS)) {
      const step = stepToolWait(state, input, POLICY)
      const { running, audioFlowing, fillers } = step?.next ?? state
      const flags = `${running ? 'R' : '.'}.${audioFlowing ? 'F' : '.'}${fillers}`
      const result =
        step === null ? '-' : [flags, step.timer, step.phrase].filter((part) => part !== null).join(' ')
      t.equal(result, TABLE[stateName]?.[inputName], `${stateName} x ${inputName}`)
    }
  }
})
