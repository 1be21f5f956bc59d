import { catalogueFile } from '../shared/catalogue-file.js'
import type { VendorModule } from '../vendor-module.js'
import { type GoogleSettings, serviceAccountOf } from './settings.js'
import { googleSpeechToText } from './stt.js'

export const GOOGLE = {
  id: 'google',
  variables: [
    {
      name: 'PARLEY_GOOGLE_CREDENTIALS_FILE',
      default: '',
      description: 'JSON key file of a Google Cloud service account with the role Cloud Speech Client (STT)',
    },
    {
      name: 'PARLEY_GOOGLE_LOCATION',
      default: 'asia-southeast1',
      description: 'Google Cloud location that serves the recognition model',
    },
    {
      name: 'PARLEY_GOOGLE_URL',
      default: 'https://LOCATION-speech.googleapis.com',
      description: 'Google Speech-to-Text URL',
    },
  ],
  requires: ['PARLEY_GOOGLE_CREDENTIALS_FILE'],
  readSettings: (reader) => {
    const location = reader.text('PARLEY_GOOGLE_LOCATION')
    return {
      account: reader.jsonFile(
        'PARLEY_GOOGLE_CREDENTIALS_FILE',
        serviceAccountOf,
        'the key file of a service account, with project_id, client_email, private_key_id and private_key',
      ) ?? { project: '', email: '', keyId: '', privateKey: '' },
      location,
      baseUrl: reader.httpUrl('PARLEY_GOOGLE_URL', `https://${location}-speech.googleapis.com`),
    }
  },
  catalogue: catalogueFile('google'),
  open: (settings, deps) => ({ google: { speechToText: googleSpeechToText(settings, deps) } }),
} as const satisfies VendorModule<'google', GoogleSettings>
