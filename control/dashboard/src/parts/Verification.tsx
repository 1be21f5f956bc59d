import {
  Alert,
  Button,
  FileButton,
  NativeSelect,
  SimpleGrid,
  Stack,
  Text,
  TextInput,
  Title,
} from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useTranslations } from 'use-intl'
import type {
  CreateVerificationUploadBody,
  SubmitVerificationBody,
} from '../../../../clients/typescript/generated/types.js'
import { useFormat } from '../i18n.js'
import { useKey, useSession } from '../session.js'
import { Form } from './Dialog.js'
import { useFields } from './fields.js'
import { sendFile } from './files.js'
import { useAction } from './List.js'
import { Loaded } from './Page.js'
import { Problem } from './Problem.js'
import { StateSelect } from './StateSelect.js'
import { State, useWord } from './Word.js'

const ENTITIES = [
  'individual',
  'proprietorship',
  'partnership',
  'llp',
  'private_limited',
  'public_limited',
  'trust',
  'society',
  'government',
  'other',
] as const

/** The state of the verification, and the form that asks for it. */
export function Verification() {
  const t = useTranslations('settings')
  const { api, canManage } = useSession()
  const key = useKey()
  const { time } = useFormat()
  const verification = useQuery({ queryKey: key('verification'), queryFn: () => api.readVerification() })
  return (
    <Loaded query={verification} height={300}>
      {({ status, submittedAt, rejectionReason }) => (
        <Stack>
          <div>
            <State value={status} />
          </div>
          {status === 'verified' && <Text>{t('verifiedText')}</Text>}
          {status === 'submitted' && <Text>{t('submitted', { time: time(submittedAt) })}</Text>}
          {status === 'rejected' && (
            <Alert color="red">{t('rejected', { reason: rejectionReason ?? '' })}</Alert>
          )}
          {(status === 'unverified' || status === 'rejected') && (
            <>
              <Text>{t('why')}</Text>
              {canManage && <Submit />}
            </>
          )}
        </Stack>
      )}
    </Loaded>
  )
}

interface Uploaded {
  readonly id: string
  readonly name: string
}

function Submit() {
  const t = useTranslations('settings')
  const { api } = useSession()
  const word = useWord()
  const [documents, setDocuments] = useState<readonly Uploaded[]>([])
  const form = useFields({
    legalName: '',
    entityType: 'private_limited' as string,
    gstin: '',
    pan: '',
    address: '',
    city: '',
    pincode: '',
    stateCode: '',
    name: '',
    email: '',
    phone: '+91',
  })
  const { legalName, entityType, gstin, pan, address, city, pincode, stateCode, name, email, phone } =
    form.values
  const body: SubmitVerificationBody = {
    legalName,
    entityType: entityType as SubmitVerificationBody['entityType'],
    gstin: gstin === '' ? null : gstin,
    pan: pan === '' ? null : pan,
    registeredAddress: { address, city, pincode, stateCode },
    authorisedPerson: { name, email, phone },
    documents: documents.map(({ id }) => id),
  }
  const submit = useAction(() => api.submitVerification({ body }))
  const upload = useAction(
    async (file: File): Promise<Uploaded> => {
      const address = await api.createVerificationUpload({
        body: {
          fileName: file.name,
          contentType: file.type as CreateVerificationUploadBody['contentType'],
          bytes: file.size,
        },
      })
      await sendFile(address.upload, file)
      return { id: address.uploadId, name: file.name }
    },
    (uploaded) => setDocuments((others) => [...others, uploaded]),
  )
  return (
    <Form action={submit} submit={t('submit')}>
      <SimpleGrid cols={{ base: 1, md: 2 }}>
        <Stack gap="sm">
          <TextInput label={t('legal')} required {...form.text('legalName')} />
          <NativeSelect
            label={t('entity')}
            data={ENTITIES.map((value) => ({ value, label: word(value) }))}
            {...form.text('entityType')}
          />
          <TextInput label={t('gstin')} maxLength={15} {...form.text('gstin')} />
          <TextInput label={t('pan')} maxLength={10} {...form.text('pan')} />
          <TextInput label={t('address')} required {...form.text('address')} />
          <TextInput label={t('city')} required {...form.text('city')} />
          <TextInput label={t('pincode')} required pattern="[1-9][0-9]{5}" {...form.text('pincode')} />
          <StateSelect label={t('state')} required {...form.text('stateCode')} />
        </Stack>
        <Stack gap="sm">
          <Title order={2} size="h4">
            {t('person')}
          </Title>
          <TextInput label={t('personName')} required {...form.text('name')} />
          <TextInput label={t('email')} type="email" required {...form.text('email')} />
          <TextInput label={t('phone')} type="tel" required {...form.text('phone')} />
          <Title order={2} size="h4">
            {t('documents')}
          </Title>
          {upload.error !== null && <Problem error={upload.error} />}
          <div role="status">
            {documents.map((document) => (
              <Text size="sm" key={document.id}>
                {t('uploaded', { name: document.name })}
              </Text>
            ))}
          </div>
          <div>
            <FileButton
              accept="application/pdf,image/jpeg,image/png"
              onChange={(file) => file !== null && upload.mutate(file)}
            >
              {(button) => (
                <Button variant="default" loading={upload.isPending} {...button}>
                  {t('addDocument')}
                </Button>
              )}
            </FileButton>
          </div>
        </Stack>
      </SimpleGrid>
    </Form>
  )
}
