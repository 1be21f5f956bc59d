import type { NewJob } from '../../jobs/store.js'

/** Returns the kind of the jobs that move the recordings of a node to the object store. Only it has the files. */
export function storingKind(nodeId: string): string {
  return `recording:${nodeId}`
}

/** Returns the job that moves a recording to the object store, by the name of the recording. */
export function storingJob(name: string, nodeId: string, dueAt: number): NewJob {
  return { id: storingJobId(name), kind: storingKind(nodeId), dueAt, payload: name }
}

export function storingJobId(name: string): string {
  return `recording:${name}`
}
