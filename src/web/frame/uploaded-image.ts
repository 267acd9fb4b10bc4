/**
 * An image that came with a form. Its sender is counted before it is looked at: unpacking and packing it is
 * dear, whether it is taken or not.
 */
import { type CheckedImage, checkImage } from '../../brands/image.ts'
import { Invalid } from '../../problem.ts'
import type { Visit } from './visit.ts'
import type { UserSession } from './visitor.ts'

/** Undefined where the field was left empty. */
export async function takeImage(
  { context, request }: Visit,
  { session }: UserSession,
  field: string,
): Promise<CheckedImage | undefined> {
  const file = request.files?.get(field)
  if (!file || file.length === 0) return undefined
  await context.imageUploads.count(session.user.id)
  const image = await checkImage(file)
  if ('problem' in image) throw new Invalid([{ field, problem: image.problem }])
  return image
}
