/** Something of the environment that changed. */
export interface Change {
  readonly kind: string
  readonly id: string
}

type Follower = (changes: readonly Change[]) => void

const followers = new Set<Follower>()

/** Tells `follower` every change until the returned function is called. */
export function followChanges(follower: Follower): () => void {
  followers.add(follower)
  return () => {
    followers.delete(follower)
  }
}

/** Tells all followers what changed. */
export function tellChanges(changes: readonly Change[]): void {
  for (const follower of followers) follower(changes)
}
