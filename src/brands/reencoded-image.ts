/** A picture as it was read and written anew. */
export interface ReencodedImage {
  readonly width: number
  readonly height: number
  readonly bytes: Buffer
}

/** Why one is not taken, told after the name of its field. */
export class ImageRefusal extends Error {}
