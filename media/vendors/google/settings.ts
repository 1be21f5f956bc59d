/** Settings of Google's Speech-to-Text v2. */
export interface GoogleSettings {
  /** URL of the location, `https://asia-southeast1-speech.googleapis.com`, without a trailing slash. */
  readonly baseUrl: string
  readonly location: string
  readonly account: ServiceAccount
}

/** Fields of the key file of a service account. */
export interface ServiceAccount {
  readonly project: string
  readonly email: string
  readonly keyId: string
  /** PEM. */
  readonly privateKey: string
}

/** Returns the account of a key file's contents, or null when a field is missing. */
export function serviceAccountOf(file: Readonly<Record<string, unknown>>): ServiceAccount | null {
  const { project_id: project, client_email: email, private_key_id: keyId, private_key: privateKey } = file
  return typeof project === 'string' &&
    typeof email === 'string' &&
    typeof keyId === 'string' &&
    typeof privateKey === 'string' &&
    privateKey.includes('PRIVATE KEY')
    ? { project, email, keyId, privateKey }
    : null
}
